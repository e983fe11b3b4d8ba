import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { hostname, networkInterfaces } from "node:os";
import { test } from "node:test";
import { countRanges, nodeAddresses, nodeName, pageSizeOf, readMachineInfo } from "./node-info.ts";

const names: [configured: string | undefined, name: string][] = [
  ["Node-1", "node-1"],
  [" n1\n", "n1"],
  [undefined, hostname().trim().toLowerCase()],
  ["", hostname().trim().toLowerCase()],
];
for (const [configured, name] of names)
  test(`the node name is ${name} if ${JSON.stringify(configured)} is configured`, () =>
    assert.equal(nodeName(configured), name));

test("configured addresses are the node addresses", async () => {
  assert.deepEqual(await nodeAddresses("192.0.2.1"), ["192.0.2.1"]);
  assert.deepEqual(await nodeAddresses("192.0.2.1, 2001:db8::1"), ["192.0.2.1", "2001:db8::1"]);
});

test("without a configured address, the node has an address of this machine", async () => {
  const mine = Object.values(networkInterfaces()).flatMap((list) => list?.map((a) => a.address) ?? []);
  const [address] = await nodeAddresses(undefined);
  assert.ok(address === "127.0.0.1" || mine.includes(address!), address);
});

test("memory and swap sizes are read from /proc/meminfo", async () => {
  const info = await readMachineInfo();
  const meminfo = readFileSync("/proc/meminfo", "utf8");
  const total = BigInt(/^MemTotal:\s+(\d+)/m.exec(meminfo)![1]!) * 1024n;
  assert.equal(info.memoryBytes, total);
  assert.equal(info.swapBytes, BigInt(/^SwapTotal:\s+(\d+)/m.exec(meminfo)![1]!) * 1024n);
  assert.ok(info.cpus >= 1);
});

test("the number of online CPUs is the size of the kernel's CPU list", () => {
  for (const [text, count] of [
    ["0\n", 1],
    ["0-3\n", 4],
    ["0-1,4,6-7", 5],
    ["", 0],
  ] as const)
    assert.equal(countRanges(text), count, text);
});

test("the page size is read from the auxiliary vector and defaults to 4096", () => {
  const pair = (key: bigint, value: bigint) => {
    const bytes = Buffer.alloc(16);
    bytes.writeBigUInt64LE(key);
    bytes.writeBigUInt64LE(value, 8);
    return bytes;
  };
  assert.equal(pageSizeOf(Buffer.concat([pair(3n, 64n), pair(6n, 65536n), pair(0n, 0n)])), 65536n);
  assert.equal(pageSizeOf(Buffer.alloc(0)), 4096n);
});
