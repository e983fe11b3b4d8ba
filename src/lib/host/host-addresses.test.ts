import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import {
  addressesOfName,
  defaultRouteAddresses,
  interfaceAddresses,
  ipv4Default,
  ipv6Default,
} from "./host-addresses.ts";

const ipv4 = `Iface	Destination	Gateway 	Flags	RefCnt	Use	Metric	Mask		MTU	Window	IRTT
wlan0	00000000	010200C0	0003	0	0	600	00000000	0	0	0
eth0	00000000	010200C0	0003	0	0	100	00000000	0	0	0
tun0	00000000	00000000	0001	0	0	50	00000080	0	0	0
eth0	000200C0	00000000	0001	0	0	0	00FFFFFF	0	0	0
`;
const zero = "0".repeat(32);
const gateway = "fe80000000000000021122fffe334455";
const ipv6 = `${zero} 00 ${zero} 00 ${gateway} 00000400 00000001 00000000 00000003     eth0
fe800000000000000000000000000000 40 ${zero} 00 ${zero} 00000100 00000001 00000000 00000001     eth1
${zero} 00 ${zero} 00 ${zero} ffffffff 00000001 00000000 00200200       lo
`;

describe("default routes", () => {
  it("an IPv4 default route has no mask, the lowest metric is first; 0.0.0.0/1 is not a default route", () => {
    assert.deepEqual(ipv4Default(ipv4), ["eth0", "wlan0"]);
    assert.deepEqual(ipv4Default(""), []);
  });
  it("the kernel's unreachable IPv6 route is ignored", () => {
    assert.deepEqual(ipv6Default(ipv6), ["eth0"]);
    assert.deepEqual(ipv6Default(""), []);
  });
  it("lead to a global address of each family", async () => {
    const proc = await mkdtemp(join(tmpdir(), "proc-"));
    try {
      await mkdir(join(proc, "net"));
      await writeFile(join(proc, "net/route"), ipv4);
      await writeFile(join(proc, "net/ipv6_route"), ipv6);
      const interfaces = {
        lo: ["127.0.0.1"],
        eth0: ["fe80::1", "2001:db8::1", "192.0.2.1"],
        wlan0: ["192.0.2.9"],
      };
      const found = await defaultRouteAddresses(interfaces, proc);
      assert.deepEqual(found, { ipv4: "192.0.2.1", ipv6: "2001:db8::1" });
      assert.deepEqual(await defaultRouteAddresses({ wlan0: ["192.0.2.9"] }, proc), { ipv4: "192.0.2.9" });
      assert.deepEqual(await defaultRouteAddresses(interfaces, join(proc, "none")), {});
    } finally {
      await rm(proc, { recursive: true });
    }
  });
});

describe("addresses", () => {
  it("the addresses of this host include loopback", () =>
    assert.ok(interfaceAddresses().lo?.includes("127.0.0.1")));
  it("an unknown name has no addresses", async () => assert.deepEqual(await addressesOfName(""), []));
});
