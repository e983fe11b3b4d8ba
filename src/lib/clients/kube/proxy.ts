import { BlockList, isIP } from "node:net";

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The proxy for a server: the one in the kubeconfig, otherwise the one in the environment (HTTPS_PROXY, HTTP_PROXY, NO_PROXY
 * and their lower-case forms). Loopback addresses never use a proxy from the environment.
 */
export function proxyFor(server: URL, configured: URL | undefined, env: Environment): URL | undefined {
  if (configured) return configured;
  const name = server.protocol === "https:" ? "HTTPS_PROXY" : "HTTP_PROXY";
  const value = env[name] || env[name.toLowerCase()];
  if (!value || bypasses(server, env.NO_PROXY || env.no_proxy || "")) return undefined;
  const url = URL.parse(value.includes("://") ? value : `http://${value}`);
  return url && (url.protocol === "http:" || url.protocol === "https:") ? url : undefined;
}

function bypasses(server: URL, list: string): boolean {
  const host = hostOf(server).toLowerCase();
  if (host === "localhost" || (isIP(host) && loopback.check(host, family(host)))) return true;
  const port = server.port || (server.protocol === "https:" ? "443" : "80");
  return list
    .split(",")
    .map((entry) => entry.trim().toLowerCase())
    .some((entry) => entry !== "" && matches(entry, host, port));
}

function matches(entry: string, host: string, port: string): boolean {
  if (entry === "*") return true;
  const range = /^(.+)\/(\d+)$/.exec(entry);
  if (range?.[1] && isIP(range[1])) return isIP(host) > 0 && inRange(host, range[1], Number(range[2]));
  const withPort = /^\[?([^\]]*?)\]?:(\d+)$/.exec(entry);
  if (withPort?.[1] !== undefined && !isIP(entry)) {
    return withPort[2] === port && matches(withPort[1], host, port);
  }
  const name = entry.replace(/^\[|\]$/g, "");
  if (isIP(name) || isIP(host)) return name === host;
  // ".example.org" means its subdomains, "example.org" these and itself.
  const domain = name.replace(/^\*?\./, "");
  return host.endsWith(`.${domain}`) || (domain === name && host === domain);
}

function inRange(host: string, net: string, prefix: number): boolean {
  const max = isIP(net) === 4 ? 32 : 128;
  if (isIP(net) !== isIP(host) || prefix > max) return false;
  const range = new BlockList();
  range.addSubnet(net, prefix, family(net));
  return range.check(host, family(host));
}

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");

function family(address: string): "ipv4" | "ipv6" {
  return isIP(address) === 6 ? "ipv6" : "ipv4";
}

/** The host of a URL as names and addresses are written elsewhere: without brackets. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, "");
}
