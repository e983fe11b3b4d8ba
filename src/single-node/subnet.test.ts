import assert from "node:assert/strict";
import { test } from "node:test";
import { firstAddress, isFree, parseCidr, parseRoutes, pickSubnet } from "./subnet.ts";

const procNetRoute = `Iface	Destination	Gateway 	Flags	RefCnt	Use	Metric	Mask		MTU	Window	IRTT
eth0	00000000	010200C0	0003	0	0	0	00000000	0	0	0
eth0	000200C0	00000000	0001	0	0	0	00FFFFFF	0	0	0
tun0	0000400A	00000000	0001	0	0	0	0000C0FF	0	0	0
`;

test("the kernel's routes are read, without the default route", () => {
  assert.deepEqual(parseRoutes(procNetRoute), [
    { address: 0xc0000200, bits: 24 },
    { address: 0x0a400000, bits: 10 },
  ]);
});

test("a line that is not a route is ignored", () => {
  const odd = `${procNetRoute}eth1\tx\t0\t1\t0\t0\t0\t00FFFFFF\neth1\t000200C0\t0\t1\t0\t0\t0\tFF\n`;
  assert.deepEqual(parseRoutes(odd), parseRoutes(procNetRoute));
});

test("a name always gives the same subnet, names give different ones", () => {
  assert.match(pickSubnet("a", []), /^10\.\d+\.\d+\.0\/24$/);
  assert.equal(pickSubnet("a", []), pickSubnet("a", []));
  assert.notEqual(pickSubnet("a", []), pickSubnet("b", []));
});

test("a subnet that overlaps a taken one is skipped", () => {
  const first = pickSubnet("a", []);
  for (const taken of [
    first,
    first.replace("/24", "/32"),
    first.replace("/24", "/20"),
    first.replace(".0/24", ".128/25"),
  ]) {
    assert.notEqual(pickSubnet("a", [parseCidr(taken)]), first, taken);
  }
  assert.equal(pickSubnet("a", [parseCidr("192.0.2.0/24")]), first);
});

test("the search wraps around to the start of the pool", () => {
  const taken = Array.from({ length: 63 }, (_, i) => parseCidr(`10.${65 + i}.0.0/16`));
  assert.match(pickSubnet("a", taken), /^10\.64\./);
});

test("a host that routes the whole pool has no free subnet", () => {
  assert.throws(() => pickSubnet("a", parseRoutes(procNetRoute)), { code: "NoSubnet" });
});

test("a wider range starts at a multiple of its size, and is free as a whole", () => {
  const range = pickSubnet("a", [], 20);
  assert.match(range, /^10\.\d+\.\d+\.0\/20$/);
  assert.equal(parseCidr(range).address % 4096, 0);
  const taken = parseCidr(range.replace("/20", "/32"));
  assert.ok(isFree(parseCidr(pickSubnet("a", [taken], 20)), [taken, parseCidr(range)]));
});

test("the first host address of a range is the one after its network address", () => {
  assert.equal(firstAddress("10.64.7.0/24"), "10.64.7.1");
  assert.equal(firstAddress("10.127.240.0/20"), "10.127.240.1");
});
