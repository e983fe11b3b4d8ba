import assert from "node:assert/strict";
import { createServer } from "node:net";
import { test } from "node:test";
import { cpuBetween, cpuMs, listenerOf, residentMiB, threadCpuMs } from "./process-stats.ts";

test("the CPU time of a process grows with its work, and not beyond what the kernel charges", () => {
  const before = { process: cpuMs(process.pid), threads: threadCpuMs(process.pid) };
  const usage = process.cpuUsage();
  while (process.cpuUsage(usage).user < 100_000);
  const used = cpuBetween(before.threads, threadCpuMs(process.pid));
  const { user, system } = process.cpuUsage(usage);
  assert.ok(used >= 90 && used <= (user + system) / 1000 + 20, `${used} ms of ${user + system} µs`);
  assert.ok(cpuMs(process.pid) - before.process >= 90);
});

test("a thread that starts between two snapshots counts as a whole", () => {
  assert.equal(cpuBetween(new Map([["1", 5]]), new Map([...[["1", 7] as const], ["2", 3]])), 5);
});

test("the resident memory is that of the process", () => {
  const mib = process.memoryUsage.rss() / 1024 ** 2;
  assert.ok(Math.abs(residentMiB(process.pid) - mib) < 20);
});

test("the process that listens on a port is found", async (t) => {
  const server = createServer();
  t.after(() => server.close());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  assert.equal(listenerOf(port), process.pid);
  await new Promise((resolve) => server.close(resolve));
  assert.equal(listenerOf(port), undefined);
});
