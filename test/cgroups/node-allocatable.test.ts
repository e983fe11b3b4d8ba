import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { after, describe, it } from "node:test";
import { type Logger, silentLogger } from "../../src/lib/base/logger.ts";
import { cgroupFilesystem, detectLayout } from "../../src/lib/host/cgroups/mounted-cgroups.ts";
import { CgroupNode, type CgroupNodeOptions } from "./cgroup-node.ts";
import { contentsOf } from "./kernel-values.ts";

const layout = await detectLayout();
const kernel = cgroupFilesystem(layout);
const base = `/kubelet-ts-allocatable-${process.pid}`;
const skip = process.getuid?.() === 0 ? false : "only root can create cgroups";
const mi = 1024 * 1024;
const [cpu, memory, pids] =
  layout.version === 1
    ? ["cpu/cpu.shares", "memory/memory.limit_in_bytes", "pids/pids.max"]
    : ["cpu.weight", "memory.max", "pids.max"];
const memoryTotal = Number(/^MemTotal:\s+(\d+)/m.exec(readFileSync("/proc/meminfo", "utf8"))![1]) * 1024;

describe("node allocatable on this machine's kernel", { skip }, () => {
  after(() => kernel.remove(base));

  const reserved = {
    systemReserved: { cpu: "100m", memory: "64Mi", pid: "500" },
    kubeReserved: { cpu: "200m", memory: "32Mi" },
    systemReservedCgroup: `${base}/system`,
    kubeReservedCgroup: `${base}/kube`,
  };
  const started = async (
    levels: string[],
    { config: over, gates }: Pick<CgroupNodeOptions, "config" | "gates"> = {},
  ) => {
    const events: string[] = [];
    const logger: Logger = {
      ...silentLogger,
      debug: (_, message, fields) => void (isEnforcement(fields?.reason) && events.push(message)),
      warn: (message, fields) => void (isEnforcement(fields?.reason) && events.push(message)),
    };
    logger.with = () => logger;
    const config = { ...reserved, enforceNodeAllocatable: levels, ...over };
    const cgroupRoot = `${base}/node`;
    const node = await CgroupNode.start({ driver: "cgroupfs", cgroupRoot, config, gates, logger });
    await node.stop();
    return events;
  };
  const read = async (path: string, ...names: string[]) =>
    Object.values(await contentsOf(layout, path, names)).map((text) =>
      text === "max" ? text : Number(text),
    );

  // parity: field enforceNodeAllocatable, field systemReservedCgroup, field kubeReservedCgroup, field systemReserved, field kubeReserved
  it("pods, system-reserved and kube-reserved are limited to what is reserved for them", async () => {
    await kernel.create(`${base}/system`, {});
    await kernel.create(`${base}/kube`, {});
    const events = await started(["pods", "system-reserved", "kube-reserved"]);
    assert.deepEqual(events, [
      "Updated Node Allocatable limit across pods",
      `Updated limits on system reserved cgroup ${base}/system`,
      `Updated limits on kube reserved cgroup ${base}/kube`,
    ]);
    const shares = (millis: number) => weightOf(Math.floor((millis * 1024) / 1000));
    const millis = availableParallelism() * 1000 - 300;
    assert.deepEqual(await read(`${base}/node/kubepods`, cpu!, memory!), [
      shares(millis),
      Math.floor((memoryTotal - 96 * mi) / 4096) * 4096,
    ]);
    assert.deepEqual(await read(`${base}/system`, cpu!, memory!, pids!), [shares(100), 64 * mi, 500]);
    assert.deepEqual(await read(`${base}/kube`, cpu!, memory!, pids!), [shares(200), 32 * mi, "max"]);
  });

  it("compressible levels limit the CPU only, and without pods the limit is the capacity", async () => {
    await kernel.remove(`${base}/system`);
    await kernel.create(`${base}/system`, {});
    await started(["system-reserved-compressible"]);
    assert.deepEqual(await read(`${base}/system`, cpu!, pids!), [weightOf(102), "max"]);
    assert.deepEqual(await read(`${base}/node/kubepods`, memory!), [Math.floor(memoryTotal / 4096) * 4096]);
  });

  // parity: gate QOSReserved=true, gate QOSReserved=false, field qosReserved
  for (const QOSReserved of [false, true])
    it(`qosReserved ${QOSReserved ? "limits the QoS classes" : "has no effect without QOSReserved"}`, async () => {
      await kernel.remove(`${base}/node`);
      const config = { qosReserved: { memory: "50%" } };
      await started(["pods"], { config, gates: { QOSReserved } });
      const left = Math.floor((memoryTotal - 96 * mi) / 4096) * 4096;
      for (const qos of ["burstable", "besteffort"]) {
        const [limit] = await read(`${base}/node/kubepods/${qos}`, memory!);
        if (QOSReserved) assert.equal(limit, left, qos);
        else assert.ok(limit === "max" || Number(limit) > 2 ** 62, `${qos}: ${limit}`);
      }
    });

  it("a reserved cgroup that does not exist is named, and the agent does not start", async () => {
    await kernel.remove(`${base}/kube`);
    const name = `["${base.slice(1)}" "kube"]`;
    await assert.rejects(started(["pods", "kube-reserved"]), {
      message: `Failed to enforce Kube Reserved Cgroup Limits on "${base}/kube": cgroup ${name} doesn't exist`,
    });
  });
});

function weightOf(shares: number): number {
  return layout.version === 1 ? shares : 1 + Math.floor(((shares - 2) * 9999) / 262142);
}

function isEnforcement(reason: unknown): boolean {
  return reason === "NodeAllocatableEnforced" || reason === "FailedNodeAllocatableEnforcement";
}
