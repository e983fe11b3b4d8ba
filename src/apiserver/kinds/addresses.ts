import { isIP } from "node:net";
import type { FieldProblems } from "./field-problems.ts";

export type Family = "IPv4" | "IPv6";

export function familyOf(address: string): Family | undefined {
  const version = isIP(address);
  return version === 4 ? "IPv4" : version === 6 ? "IPv6" : undefined;
}

export function checkAddress(path: string, value: string, problems: FieldProblems): boolean {
  if (isIP(value) !== 0 && !value.includes("%")) return true;
  problems.invalid(path, value, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)");
  return false;
}

export function checkCidr(path: string, value: string, problems: FieldProblems): boolean {
  if (cidrFamily(value) !== undefined) return true;
  problems.invalid(path, value, "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)");
  return false;
}

export function cidrFamily(value: string): Family | undefined {
  const [address = "", bits = "", ...more] = value.split("/");
  const family = familyOf(address);
  if (family === undefined || more.length > 0 || !/^\d{1,3}$/.test(bits)) return undefined;
  return Number(bits) <= (family === "IPv4" ? 32 : 128) ? family : undefined;
}

/** Rejects addresses that other machines cannot reach. */
export function checkReachable(path: string, value: string, problems: FieldProblems): void {
  if (value === "0.0.0.0" || value === "::")
    problems.invalid(path, value, `may not be unspecified (${value})`);
  if (/^127\./.test(value) || value === "::1")
    problems.invalid(path, value, "may not be in the loopback range (127.0.0.0/8, ::1/128)");
  if (/^169\.254\./.test(value) || /^fe[89ab]/i.test(value))
    problems.invalid(path, value, "may not be in the link-local range (169.254.0.0/16, fe80::/10)");
  if (/^224\.0\.0\./.test(value) || /^ff02:/i.test(value))
    problems.invalid(path, value, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)");
}
