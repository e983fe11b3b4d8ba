import { Resolver } from "node:dns/promises";
import { readFile } from "node:fs/promises";
import { isIP, type LookupFunction } from "node:net";
import { errnoOf, messageOf } from "../base/errors.ts";

export interface NameLookupOptions {
  readonly hostsFile?: string;
  readonly resolvConf?: string;
  /** By default the servers of resolv.conf. */
  readonly servers?: readonly string[];
}

interface Found {
  readonly address: string;
  readonly family: 4 | 6;
}

const queryTimeoutMs = 5_000;
const tries = 2;

/**
 * Resolves a name that the author of a pod chose, by the hosts file and DNS. getaddrinfo(3), which Node.js uses unless `lookup` is set,
 * blocks a thread of the pool for each name whose servers do not respond: a few such names would block all other lookups of the process,
 * even those of "localhost". Queries here need no thread, and end with `cancel`.
 */
export class NameLookup {
  readonly #o: NameLookupOptions;
  /** Only for a name: most hosts are addresses. */
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
    if (local.length > 0) return local;
    const candidates = candidatesOf(name, await textOf(resolvConf));
    this.#resolver = new Resolver({ timeout: queryTimeoutMs, tries });
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
      if (found.length > 0) return found;
      for (const one of [ipv4, ipv6])
        if (one.status === "rejected" && !isAbsent(one.reason)) failure = failed(name, one.reason);
    }
    throw failure;
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

/** The names to query, in this order, as resolv.conf(5) describes "search" and "ndots". */
function candidatesOf(name: string, resolvConf: string): string[] {
  if (name.endsWith(".")) return [name];
  let searches: string[] = [];
  let ndots = 1;
  for (const line of resolvConf.split("\n")) {
    const [keyword, ...values] = line.trim().split(/\s+/);
    if (keyword === "search" || keyword === "domain") searches = values;
    if (keyword === "options")
      for (const value of values) ndots = Number(/^ndots:(\d{1,2})$/.exec(value)?.[1] ?? ndots);
  }
  const searched = searches.map((domain) => (domain === "." ? name : `${name}.${domain}`));
  const isQualified = name.split(".").length - 1 >= ndots;
  return [...new Set(isQualified ? [name, ...searched] : [...searched, name])];
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
  const why = { ETIMEOUT: "i/o timeout", ESERVFAIL: "server misbehaving" }[code] ?? messageOf(error);
  return lookupError(code, why || `failed: ${name}`);
}

/** As an error of getaddrinfo(3): callers recognize a failed lookup by its system call. */
function lookupError(code: string, message: string): NodeJS.ErrnoException {
  return Object.assign(new Error(message), { code, syscall: "getaddrinfo" });
}
