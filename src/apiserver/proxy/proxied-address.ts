import { BlockList, isIP } from "node:net";

/** Loopback and link-local addresses. */
const own = new BlockList();
own.addAddress("0.0.0.0");
own.addAddress("255.255.255.255");
own.addSubnet("127.0.0.0", 8);
own.addSubnet("169.254.0.0", 16);
own.addSubnet("224.0.0.0", 4);
own.addAddress("::", "ipv6");
own.addAddress("::1", "ipv6");
own.addSubnet("fe80::", 10, "ipv6");
own.addSubnet("ff00::", 8, "ipv6");

/** Whether a proxy may connect to an address: clients must not reach addresses that only this machine can reach. */
export function mayProxyTo(address: string): boolean {
  const family = isIP(address);
  if (family === 0) return false;
  // The BlockList recognizes IPv4-mapped IPv6 addresses.
  return !own.check(address, family === 6 ? "ipv6" : "ipv4");
}
