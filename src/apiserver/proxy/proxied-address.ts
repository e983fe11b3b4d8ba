import { BlockList, isIP } from "node:net";

/** Addresses that are this machine, or reach no further than its own wires. */
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

/** Whether a proxy may go there: otherwise the API could be sent to what only its own machine may reach. */
export function mayProxyTo(address: string): boolean {
  const family = isIP(address);
  if (family === 0) return false;
  // Addresses of IPv4 in the dress of IPv6 are known by the list for what they are.
  return !own.check(address, family === 6 ? "ipv6" : "ipv4");
}
