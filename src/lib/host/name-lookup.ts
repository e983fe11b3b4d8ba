import { createSocket } from "node:dgram";
import { Resolver } from "node:dns/promises";
import { readFile } from "node:fs/promises";
import { BlockList, isIP, type LookupFunction } from "node:net";
import { hostname } from "node:os";
import { errnoOf, messageOf } from "../base/errors.ts";

export interface NameLookupOptions {
  readonly hostsFile?: string;
  readonly resolvConf?: string;
  /** By default the servers of resolv.conf. */
  readonly servers?: readonly string[];
  readonly hostname?: string;
  /** The address that this machine would connect from; undefined if it has no route. */
  readonly sourceOf?: (address: string) => Promise<string | undefined>;
}

interface Found {
  readonly address: string;
  readonly family: 4 | 6;
}

/**
 * Resolves a name that the author of a pod chose, by the hosts file and DNS. getaddrinfo(3), which Node.js uses unless `lookup` is set,
 * blocks a thread of the pool for each name whose servers do not respond: a few such names would block all other lookups of the process,
 * even those of "localhost". Queries here need no thread, and end with `cancel`.
 */
export class NameLookup {
  readonly #o: NameLookupOptions;
  /** Created only to look up a name: most hosts are addresses. */
  #resolver: Resolver | undefined;
  #isCanceled = false;

  constructor(options: NameLookupOptions = {}) {
    this.#o = options;
  }

  /** For connections of `node:net`. */
  readonly lookup: LookupFunction = (name, { all, family }, callback) => {
    this.#resolve(name).then(
      (found) => {
        const wanted = found.filter(
          (one) => !family || family === one.family || family === `IPv${one.family}`,
        );
        const [first] = wanted;
        if (!first) callback(notFound(name), "");
        else if (all) callback(null, wanted);
        else callback(null, first.address, first.family);
      },
      (error: NodeJS.ErrnoException) => callback(error, ""),
    );
  };

  /** Ends the lookup: no one waits for its result. */
  cancel(): void {
    this.#isCanceled = true;
    this.#resolver?.cancel();
  }

  async #resolve(name: string): Promise<Found[]> {
    const { hostsFile = "/etc/hosts", resolvConf = "/etc/resolv.conf" } = this.#o;
    const local = addressesIn(await textOf(hostsFile), name);
    if (local.length > 0) return this.#sorted(local);
    const settings = settingsOf(await textOf(resolvConf), this.#o.hostname ?? hostname());
    const candidates = candidatesOf(name, settings);
    this.#resolver = new Resolver({ timeout: settings.timeoutSeconds * 1000, tries: settings.attempts });
    const resolver = this.#resolver;
    if (this.#o.servers) resolver.setServers(this.#o.servers);
    let failure: NodeJS.ErrnoException = notFound(name);
    for (const candidate of candidates) {
      if (this.#isCanceled) break;
      const [ipv4, ipv6] = await Promise.allSettled([
        resolver.resolve4(candidate),
        resolver.resolve6(candidate),
      ]);
      const found = [
        ...(ipv4.status === "fulfilled"
          ? ipv4.value.map((address) => ({ address, family: 4 as const }))
          : []),
        ...(ipv6.status === "fulfilled"
          ? ipv6.value.map((address) => ({ address, family: 6 as const }))
          : []),
      ];
      if (found.length > 0) return this.#sorted(found);
      for (const one of [ipv4, ipv6])
        if (one.status === "rejected" && !isAbsent(one.reason)) failure = failed(name, one.reason);
    }
    throw failure;
  }

  /** Orders the two families as RFC 6724 does. */
  async #sorted(found: Found[]): Promise<Found[]> {
    const { sourceOf = routeSourceOf } = this.#o;
    const [ipv4, ipv6] = [4, 6].map((family) => found.filter((one) => one.family === family));
    if (!ipv4?.[0] || !ipv6?.[0]) return found;
    const sources = await Promise.all([sourceOf(ipv4[0].address), sourceOf(ipv6[0].address)]);
    return prefersIpv6(ipv6[0].address, ...sources) ? [...ipv6, ...ipv4] : [...ipv4, ...ipv6];
  }
}

/** IPv6 needs a source of the same kind as the target. */
function prefersIpv6(
  target: string,
  ipv4Source: string | undefined,
  ipv6Source: string | undefined,
): boolean {
  if (ipv4Source === undefined || ipv6Source === undefined) return ipv6Source !== undefined;
  const kind = kindOf(target);
  return kind !== "after IPv4" && kind === kindOf(ipv6Source);
}

const afterIpv4 = new BlockList();
for (const [net, bits] of [
  ["fc00::", 7],
  ["2002::", 16],
  ["2001::", 32],
  ["3ffe::", 16],
  ["fec0::", 10],
  ["::", 96],
  ["::ffff:0:0", 96],
] as const)
  afterIpv4.addSubnet(net, bits, "ipv6");
const linkLocal = new BlockList();
linkLocal.addSubnet("fe80::", 10, "ipv6");

/** The kinds of IPv6 addresses in the default policy table of RFC 6724. */
function kindOf(address: string): "loopback" | "link-local" | "after IPv4" | "global" {
  const [ip = ""] = address.split("%", 1);
  if (ip === "::1") return "loopback";
  if (linkLocal.check(ip, "ipv6")) return "link-local";
  return afterIpv4.check(ip, "ipv6") ? "after IPv4" : "global";
}

/** Connects a UDP socket, which sends nothing. */
async function routeSourceOf(address: string): Promise<string | undefined> {
  const socket = createSocket(isIP(address) === 6 ? "udp6" : "udp4");
  try {
    return await new Promise<string>((resolve, reject) => {
      socket.once("error", reject);
      socket.once("connect", () => resolve(socket.address().address));
      socket.bind(() => socket.connect(9, address));
    });
  } catch {
    return undefined;
  } finally {
    socket.close();
  }
}

/** The addresses of a name in a hosts file. "localhost" needs no line. */
function addressesIn(hosts: string, name: string): Found[] {
  const wanted = name.toLowerCase().replace(/\.$/, "");
  const found = hosts.split("\n").flatMap((line): Found[] => {
    const [address = "", ...names] = line.replace(/#.*/, "").trim().split(/\s+/);
    const family = isIP(address);
    return (family === 4 || family === 6) && names.some((one) => one.toLowerCase() === wanted)
      ? [{ address, family }]
      : [];
  });
  return found.length > 0 || wanted !== "localhost" ? found : [{ address: "127.0.0.1", family: 4 }];
}

interface Settings {
  readonly searches: readonly string[];
  readonly ndots: number;
  readonly timeoutSeconds: number;
  readonly attempts: number;
}

/** The settings in resolv.conf(5). Without a search domain, names are searched in the domain of this machine. */
function settingsOf(resolvConf: string, host: string): Settings {
  let searches: string[] = [];
  const options = { ndots: 1, timeout: 5, attempts: 2 };
  for (const line of resolvConf.split("\n")) {
    const [keyword, ...values] = line.trim().split(/\s+/);
    if (keyword === "search") searches = values;
    if (keyword === "domain") searches = values.slice(0, 1);
    if (keyword === "options")
      for (const value of values) {
        const [, name, number] = /^(ndots|timeout|attempts):(\d{1,2})$/.exec(value) ?? [];
        if (name) options[name as keyof typeof options] = Number(number);
      }
  }
  searches = searches.filter((domain) => domain !== ".");
  const domain = host.replace(/^[^.]*\.?/, "");
  return {
    searches: searches.length > 0 || domain === "" ? searches : [domain],
    ndots: Math.min(options.ndots, 15),
    timeoutSeconds: Math.max(options.timeout, 1),
    attempts: Math.max(options.attempts, 1),
  };
}

/** The names to query, in this order, as resolv.conf(5) describes "search" and "ndots". */
function candidatesOf(name: string, { searches, ndots }: Settings): string[] {
  if (name.endsWith(".")) return [name];
  const searched = searches.map((domain) => `${name}.${domain}`);
  const isQualified = name.split(".").length - 1 >= ndots;
  return isQualified ? [name, ...searched] : [...searched, name];
}

async function textOf(path: string): Promise<string> {
  return readFile(path, "utf8").catch(() => "");
}

/** The server responded that there is no such name, or no address of this family. */
function isAbsent(error: unknown): boolean {
  return ["ENOTFOUND", "ENODATA", "EBADNAME"].includes(errnoOf(error) ?? "");
}

function notFound(name: string): NodeJS.ErrnoException {
  return lookupError("ENOTFOUND", `no such host: ${name}`);
}

function failed(name: string, error: unknown): NodeJS.ErrnoException {
  const code = errnoOf(error) ?? "";
  const known = {
    ETIMEOUT: "i/o timeout",
    ESERVFAIL: "server misbehaving",
    ECONNREFUSED: "connection refused",
  };
  const why = known[code as keyof typeof known] ?? messageOf(error);
  return lookupError(code, why || `failed: ${name}`);
}

/** An error like those of getaddrinfo(3): callers recognize a failed lookup by its system call. */
function lookupError(code: string, message: string): NodeJS.ErrnoException {
  return Object.assign(new Error(message), { code, syscall: "getaddrinfo" });
}
