import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { hostname, networkInterfaces } from "node:os";
import { test } from "node:test";
import { nodeAddresses, nodeName, readMachineFacts } from "./node-facts.ts";

const names: [told: string | undefined, name: string][] = [
  ["Node-1", "node-1"],
  [" n1\n", "n1"],
  [undefined, hostname().trim().toLowerCase()],
  ["", hostname().trim().toLowerCase()],
];
for (const [told, name] of names)
  test(`node name: ${JSON.stringify(told)} is ${name}`, () => assert.equal(nodeName(told), name));

test("addresses are those that were told", async () => {
  assert.deepEqual(await nodeAddresses("192.0.2.1"), ["192.0.2.1"]);
  assert.deepEqual(await nodeAddresses("192.0.2.1, 2001:db8::1"), ["192.0.2.1", "2001:db8::1"]);
});

test("an address that was not told is one of this machine", async () => {
  const mine = Object.values(networkInterfaces()).flatMap((list) => list?.map((a) => a.address) ?? []);
  const [address] = await nodeAddresses(undefined);
  assert.ok(address === "127.0.0.1" || mine.includes(address!), address);
});

test("the machine has the memory and processors that the kernel says", async () => {
  const facts = await readMachineFacts();
  const meminfo = readFileSync("/proc/meminfo", "utf8");
  const total = BigInt(/^MemTotal:\s+(\d+)/m.exec(meminfo)![1]!) * 1024n;
  assert.equal(facts.memoryBytes, total);
  assert.equal(facts.swapBytes, BigInt(/^SwapTotal:\s+(\d+)/m.exec(meminfo)![1]!) * 1024n);
  assert.ok(facts.cpus >= 1);
});
