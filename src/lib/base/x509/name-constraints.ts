import { isIP } from "node:net";
import { type AlternativeNames, DNS, EMAIL, IP, readAscii, URI } from "./alternative-names.ts";
import { contextTag } from "./der.ts";
import { DerReader, malformed } from "./der-reader.ts";
import { ipBytes, writtenBytes } from "./ip-bytes.ts";

/** Constraints of one side, by kind of name. Addresses are address and mask, as in the certificate. */
interface Subtrees {
  readonly dns: readonly string[];
  readonly email: readonly string[];
  readonly uri: readonly string[];
  readonly ip: readonly Buffer[];
}

/** For which names the CA may sign (RFC 5280, 4.2.1.10). */
export interface NameConstraints {
  readonly permitted: Subtrees;
  readonly excluded: Subtrees;
  /** True if there are constraints on names of other kinds, which are not enforced. */
  readonly incomplete: boolean;
}

const PERMITTED = contextTag(0, true);
const EXCLUDED = contextTag(1, true);

export function readNameConstraints(value: Buffer): NameConstraints {
  const outer = new DerReader(value, "name constraints");
  const lists = outer.sequence();
  outer.end();
  let incomplete = false;
  const read = (tag: number): Subtrees => {
    const found = { dns: [] as string[], email: [] as string[], uri: [] as string[], ip: [] as Buffer[] };
    if (!lists.sees(tag)) return found;
    const subtrees = lists.into(tag);
    while (!subtrees.done) {
      const subtree = subtrees.sequence();
      const { tag: kind, content } = subtree.next();
      // A minimum or maximum has no defined meaning.
      subtree.end();
      if (kind === DNS) found.dns.push(readDomain(content));
      else if (kind === EMAIL) found.email.push(readMailDomain(content));
      else if (kind === URI) found.uri.push(readDomain(content));
      else if (kind === IP) found.ip.push(addressAndMask(content));
      else incomplete = true;
    }
    return found;
  };
  const permitted = read(PERMITTED);
  const excluded = read(EXCLUDED);
  lists.end();
  const all = [permitted, excluded].flatMap(({ dns, email, uri, ip }) => [dns, email, uri, ip]);
  if (!incomplete && all.every((list) => list.length === 0))
    throw malformed("malformed name constraints: there are none");
  return { permitted, excluded, incomplete };
}

/** A constraint that no name can match would not exclude anything. */
function readDomain(content: Buffer): string {
  const text = readAscii(content);
  if (text !== "" && !isDomain(text.replace(/^\./, "")))
    throw malformed("malformed name constraints: an invalid domain");
  return text;
}

function readMailDomain(content: Buffer): string {
  const text = readAscii(content);
  const at = text.lastIndexOf("@");
  if (at === 0 || (at > 0 && !isDomain(text.slice(at + 1))))
    throw malformed("malformed name constraints: an invalid mailbox");
  return at > 0 ? text : readDomain(content);
}

/** Labels of printable characters; a dot at the end would make a name differ from the constraint for it. */
function isDomain(text: string): boolean {
  return /^[!-~]+$/.test(text) && text.split(".").every((label) => label !== "");
}

function addressAndMask(bytes: Buffer): Buffer {
  if (bytes.length !== 8 && bytes.length !== 32)
    throw malformed("malformed name constraints: an IP range of wrong length");
  const bits = [...bytes.subarray(bytes.length / 2)]
    .map((byte) => byte.toString(2).padStart(8, "0"))
    .join("");
  if (bits.includes("01")) throw malformed("malformed name constraints: an IP mask with gaps");
  return bytes;
}

/** The first name that the constraints do not allow, as text; undefined if all are allowed. */
export function forbiddenName(constraints: NameConstraints, names: AlternativeNames): string | undefined {
  const rules = [
    { kind: "DNS name", names: names.dnsNames, list: "dns", matches: inDomain },
    { kind: "rfc822Name", names: names.emails, list: "email", matches: emailMatches },
    { kind: "URI", names: names.uris, list: "uri", matches: uriMatches },
  ] as const;
  const { permitted, excluded } = constraints;
  for (const { kind, names, list, matches } of rules)
    for (const name of names)
      if (!allowed(name, permitted[list], excluded[list], matches)) return `${kind} "${name}"`;
  for (const address of names.ipAddresses)
    if (!allowed(address, permitted.ip, excluded.ip, inRange)) return `IP address "${address}"`;
  return undefined;
}

/** A match of `undefined` means that the name cannot be compared with a constraint. It is not allowed if there is a constraint. */
function allowed<C>(
  name: string,
  permitted: readonly C[],
  excluded: readonly C[],
  matches: (name: string, constraint: C, excludes: boolean) => boolean | undefined,
): boolean {
  if (excluded.some((constraint) => matches(name, constraint, true) !== false)) return false;
  return permitted.length === 0 || permitted.some((constraint) => matches(name, constraint, false) === true);
}

/** A leading dot means subdomains only; without it the domain itself is included. */
function inDomain(name: string, constraint: string, excludes: boolean): boolean | undefined {
  if (!isDomain(name)) return undefined;
  if (constraint === "") return true;
  const [host, domain] = [name.toLowerCase(), constraint.toLowerCase()];
  const isInside = domain.startsWith(".")
    ? host.endsWith(domain)
    : host === domain || host.endsWith(`.${domain}`);
  // A wildcard stands for all names of its level, so for those that are excluded, too.
  return isInside || (excludes && host.startsWith("*.") && parentOf(domain) === host.slice(2));
}

const parentOf = (domain: string): string => domain.slice(domain.indexOf(".") + 1);

function emailMatches(name: string, constraint: string, excludes: boolean): boolean | undefined {
  const at = name.lastIndexOf("@");
  if (at < 0) return undefined;
  const local = constraint.lastIndexOf("@");
  if (local < 0) return inDomain(name.slice(at + 1), constraint, excludes);
  const sameHost = name.slice(at + 1).toLowerCase() === constraint.slice(local + 1).toLowerCase();
  return sameHost && name.slice(0, at) === constraint.slice(0, local);
}

/** The host as written in the URL: parsers differ in what they decode. */
const uriHost = /^[A-Za-z][A-Za-z0-9+.-]*:\/\/(?:[^/?#@\\]*@)?([^/?#@\\:[\]%]+)(?::\d*)?(?:[/?#]|$)/;

function uriMatches(name: string, constraint: string, excludes: boolean): boolean | undefined {
  const host = uriHost.exec(name)?.[1] ?? "";
  if (host === "" || isIP(host) !== 0) return undefined;
  return inDomain(host, constraint, excludes);
}

/** An IPv4-mapped address is IPv6, but is also excluded as IPv4. */
function inRange(address: string, range: Buffer, excludes: boolean): boolean {
  const written = writtenBytes(address);
  return contains(range, written) || (excludes && contains(range, ipBytes(address)));
}

function contains(range: Buffer, bytes: Buffer | undefined): boolean {
  const half = range.length / 2;
  if (bytes?.length !== half) return false;
  return bytes.every(
    (byte, i) => (byte & (range[half + i] ?? 0)) === ((range[i] ?? 0) & (range[half + i] ?? 0)),
  );
}
