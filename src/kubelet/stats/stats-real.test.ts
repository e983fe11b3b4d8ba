import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { systemClock } from "../../lib/base/clock.ts";
import { wallTime } from "../../lib/base/time.ts";
import { cgroupFilesystem, detectLayout } from "../../lib/host/cgroups/mounted-cgroups.ts";
import { cgroupUsageReader } from "../../lib/host/cgroups/usage-reader.ts";
import { FakeCgroups, fakeContainer, fakeObservedPod, fakeStatsOptions } from "./fake-stats.ts";
import { Stats } from "./stats.ts";

const layout = await detectLayout();
const skip = process.getuid?.() === 0 ? false : "only root may create cgroups";
const megabyte = 1024 * 1024;

/** A process that uses CPU and memory, in a cgroup of this test. */
describe("statistics of a real cgroup", { skip }, () => {
  const root = `/kubelet-ts-stats-${process.pid}`;
  const podPath = `${root}/podweb-uid`;
  const path = `${podPath}/c-id`;
  const filesystem = cgroupFilesystem(layout);
  let child: ChildProcess;
  const mounts = layout.version === 1 ? layout.mounts : new Map<string, string>();
  const dir = (controller: string) =>
    join(layout.version === 1 ? mounts.get(controller)! : layout.root, path);
  const number = (controller: string, file: string) =>
    Number(readFileSync(join(dir(controller), file), "utf8"));
  const cpuNs = () =>
    layout.version === 1
      ? number("cpuacct", "cpuacct.usage")
      : Number(/^usage_usec (\d+)/m.exec(readFileSync(join(dir("cpu"), "cpu.stat"), "utf8"))![1]) * 1000;
  const memoryUsage = () =>
    number("memory", layout.version === 1 ? "memory.usage_in_bytes" : "memory.current");

  before(async () => {
    await filesystem.create(path, { memory: BigInt(256 * megabyte) });
    const program = `const held = Buffer.alloc(${48 * megabyte}, 7); process.stdout.write("ready"); for (;;) held[0] ^= 1;`;
    child = spawn(
      process.execPath,
      ["-e", "process.stdin.once('data', () => { eval(process.argv[1]); })", program],
      {
        stdio: ["pipe", "pipe", "inherit"],
      },
    );
    const dirs = layout.version === 1 ? [...new Set(mounts.values())] : [layout.root];
    for (const mount of dirs) writeFileSync(join(mount, path, "cgroup.procs"), String(child.pid));
    // It allocates memory only then: earlier memory is charged to another cgroup.
    child.stdin!.write("go\n");
    await new Promise((resolve) => child.stdout!.once("data", resolve));
  });
  after(async () => {
    child.kill("SIGKILL");
    await filesystem.remove(root);
  });

  it("CPU and memory are what the kernel reports", async () => {
    const options = fakeStatsOptions(
      systemClock,
      new FakeCgroups(),
      {},
      {
        cgroups: cgroupUsageReader(layout),
        cgroupOf: () => podPath,
        podsCgroup: root,
        observed: {
          all: () => [fakeObservedPod("web", [fakeContainer("c", { createdAt: wallTime(Date.now()) })])],
        },
        maxAgeMs: 0,
      },
    );
    const { host: _, ...real } = options;
    const stats = new Stats({ ...real, rootDir: "/" });
    const moment = () => ({ ns: cpuNs(), at: process.hrtime.bigint() });
    const start = moment();
    await stats.summary();
    const from = moment();
    while (cpuNs() - from.ns < 0.8e9 || process.hrtime.bigint() - from.at < 1_100_000_000n) await pause(20);

    const before = { ...moment(), memory: memoryUsage() };
    const summary = await stats.summary();
    const after = moment();
    // Each of the two was measured at some point while its summary was computed.
    const perSecond = (ns: number, time: bigint) => (ns / Number(time)) * 1e9;
    const lowest = perSecond(before.ns - from.ns, after.at - start.at);
    const highest = perSecond(after.ns - start.ns, before.at - from.at);
    const [pod] = summary.pods;
    const [container] = pod!.containers;
    for (const stats of [
      container,
      pod,
      summary.node.systemContainers?.find(({ name }) => name === "pods"),
    ]) {
      const ns = stats?.cpu?.usageCoreNanoSeconds ?? 0;
      assert.ok(ns >= before.ns && ns <= after.ns, `${before.ns} <= ${ns} <= ${after.ns}`);
      near(stats?.memory?.usageBytes, before.memory, "memory");
      const rate = stats?.cpu?.usageNanoCores ?? 0;
      assert.ok(rate >= lowest && rate <= highest, `${lowest} <= ${rate} <= ${highest}`);
    }
    assert.ok((container?.memory?.workingSetBytes ?? 0) >= 48 * megabyte);
    assert.equal(
      (container?.memory?.availableBytes ?? 0) + (container?.memory?.workingSetBytes ?? 0),
      256 * megabyte,
    );
    assert.equal(pod?.process_stats?.process_count, 1);
    assert.ok(pod?.network, "the network of a process of the pod");
    const row = (await stats.containers()).find(({ id }) => id === path);
    assert.ok((row?.openFiles ?? 0) > 2);
    near(row?.usage.memory?.usage, memoryUsage(), "memory of all counters");
  });
});

function near(value: number | undefined, expected: number, what: string): void {
  const off = Math.abs((value ?? 0) - expected) / expected;
  assert.ok(off < 0.05, `${what}: ${value} is ${(off * 100).toFixed(1)} % off ${expected}`);
}
