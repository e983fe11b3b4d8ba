import { isIP, isIPv4 } from "node:net";

/** 0.0.0.0 or ::, which stand for all addresses. */
export function isUnspecified(text: string): boolean {
  const ip = parseIp(text);
  return ip === "0.0.0.0" || ip === "::";
}

/**
 * The address in a setting, or undefined if the text is none. As the reference kubelet reads addresses: numbers of an IPv4 address may
 * have leading zeros, an IPv4-mapped IPv6 address is the IPv4 address, and zones are not accepted.
 */
export function parseIp(text: string): string | undefined {
  const ip = text.replace(/(^|\.)0+(?=\d)/g, "$1");
  if (isIPv4(ip)) return ip;
  if (isIP(text) === 0 || text.includes("%")) return undefined;
  const canonical = new URL(`http://[${text}]`).hostname.slice(1, -1);
  const mapped = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(canonical);
  if (!mapped) return canonical;
  const bytes = mapped.slice(1).flatMap((part) => {
    const number = Number.parseInt(part, 16);
    return [number >> 8, number & 0xff];
  });
  return bytes.join(".");
}
