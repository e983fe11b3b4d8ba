import { createHash } from "node:crypto";
import { KubeletError } from "../base/errors.ts";

export interface Ipv4Range {
  readonly address: number;
  readonly bits: number;
}

/** 10.64.0.0/10: pod networks of private nodes take one /24 each of it. */
const pool: Ipv4Range = { address: parseAddress("10.64.0.0"), bits: 10 };
const count = 1 << (24 - pool.bits);

/** A /24 that no range in `taken` overlaps; the name decides where the search begins. */
export function pickSubnet(name: string, taken: readonly Ipv4Range[]): string {
  const first = createHash("sha256").update(name).digest().readUInt32BE(0) % count;
  for (let i = 0; i < count; i++) {
    const subnet: Ipv4Range = { address: (pool.address + ((first + i) % count) * 256) >>> 0, bits: 24 };
    if (!taken.some((range) => overlaps(range, subnet))) return `${formatAddress(subnet.address)}/24`;
  }
  throw new KubeletError(
    "NoSubnet",
    "the host's routes cover all of 10.64.0.0/10: no subnet is free for pods",
  );
}

/** What the host already routes, from /proc/net/route. The default route takes nothing. */
export function parseRoutes(procNetRoute: string): Ipv4Range[] {
  return procNetRoute
    .split("\n")
    .slice(1)
    .map((line) => line.trim().split(/\s+/))
    .filter((fields) => fields.length >= 8)
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

/** The kernel prints addresses as the machine's (little-endian) word. */
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
