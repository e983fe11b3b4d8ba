import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "../../../lib/base/fake-clock.ts";
import { CgroupfsManager } from "./cgroup-manager.ts";
import type { Enforcement } from "./enforcement.ts";
import { FakeCgroupFilesystem } from "./fake-cgroup-filesystem.ts";
import { NodeAllocatable, type NodeAllocatableOptions } from "./node-allocatable.ts";

const enforcement: Enforcement = {
  levels: ["pods", "kube-reserved"],
  capacity: { cpu: "4", memory: "8Gi" },
  systemReserved: {},
  systemReservedCgroup: "",
  kubeReserved: { cpu: "1", memory: "1Gi" },
  kubeReservedCgroup: "/kube.slice/daemons",
  memoryQos: false,
  hugepageSizes: [],
};

async function setUp(t: { after(fn: () => void): void }, over: Partial<NodeAllocatableOptions> = {}) {
  const clock = new FakeClock();
  const filesystem = new FakeCgroupFilesystem();
  const events: string[] = [];
  const stop = new AbortController();
  t.after(() => stop.abort());
  const component = new NodeAllocatable({
    manager: new CgroupfsManager(filesystem),
    podsCgroup: ["node", "kubepods"],
    enforcement,
    events: {
      normal: (reason, message) => events.push(`${reason}: ${message}`),
      warning: (reason, message) => events.push(`${reason}: ${message}`),
    },
    clock,
    ...over,
  });
  await filesystem.create("/node/kubepods", {});
  return { clock, filesystem, events, component, start: () => component.start(stop.signal) };
}

// parity: event NodeAllocatableEnforced
test("pods and daemons are limited, and events report it", async (t) => {
  const { filesystem, events, start } = await setUp(t);
  await filesystem.create("/kube.slice/daemons", {});
  await start();
  assert.equal(filesystem.cgroups.get("/node/kubepods")?.memory, 7n << 30n);
  assert.equal(filesystem.cgroups.get("/kube.slice/daemons")?.memory, 1n << 30n);
  assert.deepEqual(events, [
    "NodeAllocatableEnforced: Updated Node Allocatable limit across pods",
    "NodeAllocatableEnforced: Updated limits on kube reserved cgroup /kube.slice/daemons",
  ]);
});

// parity: event FailedNodeAllocatableEnforcement
test("a cgroup of daemons that does not exist, or lacks a controller, fails startup and is named", async (t) => {
  const { filesystem, events, start } = await setUp(t);
  const missing = `Failed to enforce Kube Reserved Cgroup Limits on "/kube.slice/daemons": cgroup ["kube.slice" "daemons"] doesn't exist`;
  await assert.rejects(start(), { code: "InvalidCgroup", message: missing });
  assert.equal(events.at(-1), `FailedNodeAllocatableEnforcement: ${missing}`);
  await filesystem.create("/kube.slice/daemons", {});
  filesystem.missing = ["memory", "pids"];
  await assert.rejects(start(), /daemons"\] has some missing controllers: memory, pids \(/);
});

test("pods that use more than the limit are limited as soon as they use less", async (t) => {
  const { clock, filesystem, events, start, component } = await setUp(t, {
    enforcement: { ...enforcement, levels: ["pods"] },
  });
  filesystem.updateError = new Error("EBUSY");
  await start();
  await clock.advance(60_000);
  filesystem.updateError = undefined;
  assert.equal(filesystem.cgroups.get("/node/kubepods")?.memory, undefined);
  await clock.advance(60_000);
  await component.done;
  assert.equal(filesystem.cgroups.get("/node/kubepods")?.memory, 7n << 30n);
  const busy = `FailedNodeAllocatableEnforcement: Failed to update Node Allocatable Limits ["node" "kubepods"]: EBUSY`;
  assert.deepEqual(events, [
    busy,
    busy,
    "NodeAllocatableEnforced: Updated Node Allocatable limit across pods",
  ]);
});

test("only the reservations are enforced if there is no cgroup of all pods", async (t) => {
  const { filesystem, events, start } = await setUp(t, { podsCgroup: undefined });
  await filesystem.create("/kube.slice/daemons", {});
  await start();
  assert.equal(filesystem.cgroups.get("/node/kubepods")?.memory, undefined);
  assert.equal(events.length, 1);
});
