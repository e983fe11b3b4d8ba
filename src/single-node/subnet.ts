import { createHash } from "node:crypto";
import { KubeletError } from "../lib/base/errors.ts";

export interface Ipv4Range {
  readonly address: number;
  readonly bits: number;
}

/** 10.64.0.0/10: each local node has a range of it for pods and one for services. */
const pool: Ipv4Range = { address: parseAddress("10.64.0.0"), bits: 10 };

/** A range of this size that overlaps none in `inUse`; the search starts at a hash of the name. */
export function pickSubnet(name: string, inUse: readonly Ipv4Range[], bits = 24): string {
  const count = 1 << (bits - pool.bits);
  const size = 2 ** (32 - bits);
  const first = createHash("sha256").update(name).digest().readUInt32BE(0) % count;
  for (let i = 0; i < count; i++) {
    const subnet: Ipv4Range = { address: (pool.address + ((first + i) % count) * size) >>> 0, bits };
    if (isFree(subnet, inUse)) return `${formatAddress(subnet.address)}/${bits}`;
  }
  throw new KubeletError(
    "NoSubnet",
    `the host's routes cover all of 10.64.0.0/10: no /${bits} is free for a local node`,
  );
}

export function isFree(range: Ipv4Range, inUse: readonly Ipv4Range[]): boolean {
  return !inUse.some((other) => overlaps(other, range));
}

/** The first host address of a range: "10.64.7.1" of "10.64.7.0/24". */
export function firstAddress(cidr: string): string {
  return formatAddress(parseCidr(cidr).address + 1);
}

/** The ranges that the host routes, from /proc/net/route, without the default route. */
export function parseRoutes(procNetRoute: string): Ipv4Range[] {
  return procNetRoute
    .split("\n")
    .slice(1)
    .map((line) => line.trim().split(/\s+/))
    .filter((fields) => fields.length >= 8 && isHex(fields[1]) && isHex(fields[7]))
    .map((fields) => ({ address: swapped(fields[1]!), bits: bitCount(swapped(fields[7]!)) }))
    .filter((range) => range.bits > 0);
}

export function parseCidr(cidr: string): Ipv4Range {
  const [address = "", bits = "32"] = cidr.split("/");
  return { address: parseAddress(address), bits: Number(bits) };
}

function overlaps(a: Ipv4Range, b: Ipv4Range): boolean {
  const bits = Math.min(a.bits, b.bits);
  const mask = bits === 0 ? 0 : (-1 << (32 - bits)) >>> 0;
  return (a.address & mask) >>> 0 === (b.address & mask) >>> 0;
}

const isHex = (text: string | undefined) => text !== undefined && /^[0-9A-Fa-f]{8}$/.test(text);

/** The kernel prints addresses as a (little-endian) machine integer. */
function swapped(hex: string): number {
  return Buffer.from(hex.padStart(8, "0"), "hex").reverse().readUInt32BE(0);
}

function bitCount(value: number): number {
  let bits = 0;
  for (let v = value; v !== 0; v = (v << 1) >>> 0) bits += v >>> 31;
  return bits;
}

function parseAddress(text: string): number {
  return text.split(".").reduce((value, part) => value * 256 + Number(part), 0);
}

function formatAddress(address: number): string {
  return [24, 16, 8, 0].map((shift) => (address >>> shift) & 0xff).join(".");
}
