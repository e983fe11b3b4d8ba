import { isIPv4, isIPv6 } from "node:net";

const zone = /%[A-Za-z0-9_.-]+$/;

/** Whether the text is a host name or an IP address, and nothing else: no port, no list, no option. */
export function isHost(text: string): boolean {
  if (text.length > 253) return false;
  return isIPv6Address(text) || isIPv4(text) || isName(text);
}

/** An IPv6 address without brackets, perhaps with a zone. */
export function isIPv6Address(text: string): boolean {
  return isIPv6(text.replace(zone, "")) && /^[A-Za-z0-9:.%_-]+$/.test(text);
}

/** As in DNS, and with the underscores that some resolvers accept. */
function isName(text: string): boolean {
  const labels = text.replace(/\.$/, "").split(".");
  return labels.every((label) => /^[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?$/.test(label));
}
