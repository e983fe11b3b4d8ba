import { isIP } from "node:net";

/** The 4 or 16 bytes of an address; undefined if it is invalid. An IPv4-mapped IPv6 address is IPv4. */
export function ipBytes(address: string): Buffer | undefined {
  const bytes = writtenBytes(address);
  return bytes && withoutMapping(bytes);
}

/** Returns `ipBytes`, except that an IPv4-mapped address has 16 bytes. */
export function writtenBytes(address: string): Buffer | undefined {
  const version = address.includes("%") ? 0 : isIP(address);
  if (version === 0) return undefined;
  return version === 4 ? Buffer.from(address.split(".").map(Number)) : ipv6Bytes(address);
}

function withoutMapping(bytes: Buffer): Buffer {
  if (bytes.length === 4) return bytes;
  const mapped = bytes.subarray(0, 10).every((byte) => byte === 0) && bytes.readUInt16BE(10) === 0xffff;
  return mapped ? bytes.subarray(12) : bytes;
}

function ipv6Bytes(address: string): Buffer {
  const [head = "", tail] = address.split("::");
  const front = groups(head);
  const back = tail === undefined ? [] : groups(tail);
  const zeros = new Array<number>(16 - front.length - back.length).fill(0);
  return Buffer.from([...front, ...zeros, ...back]);
}

function groups(text: string): number[] {
  if (text === "") return [];
  return text.split(":").flatMap((group) => {
    if (group.includes(".")) return group.split(".").map(Number);
    const value = Number.parseInt(group, 16);
    return [value >> 8, value & 0xff];
  });
}

/** The shortest form of an address (RFC 5952); undefined unless there are 4 or 16 bytes. */
export function ipText(bytes: Buffer): string | undefined {
  if (bytes.length === 4) return [...bytes].join(".");
  if (bytes.length !== 16) return undefined;
  // The URL parser of Node.js returns the canonical form.
  const hex = bytes.toString("hex").match(/.{4}/g) ?? [];
  return new URL(`http://[${hex.join(":")}]`).hostname.slice(1, -1);
}

/** The form in which certificates show an address; undefined if it is invalid. */
export function canonicalAddress(address: string): string | undefined {
  const bytes = ipBytes(address);
  return bytes && ipText(bytes);
}
