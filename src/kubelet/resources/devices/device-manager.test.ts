import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { FakeClock, settle } from "../../../lib/base/fake-clock.ts";
import { metricValues } from "../../../lib/base/fixtures.ts";
import { createLogger } from "../../../lib/base/log-writer.ts";
import { RpcError } from "../../../lib/clients/plugin-rpc/rpc-error.ts";
import type { PodUid } from "../../../lib/model/pod.ts";
import { decodeCheckpoint } from "./checkpoint.ts";
import type { DeviceManager } from "./device-manager.ts";
import { FakeDevicePlugin } from "./fake-device-plugin.ts";
import { admit, anyNode, devices, gpu, gpuPod, idsOf, managerIn, podOf } from "./fixtures.ts";

const never = new AbortController().signal;
let dir: string;
let plugins: Map<string, FakeDevicePlugin>;

beforeEach(async () => {
  dir = await mkdtemp("/tmp/devices-");
  plugins = new Map();
});
afterEach(async () => {
  for (const manager of managers.splice(0)) await manager.flushed();
  await rm(dir, { recursive: true, force: true });
});

const managers: DeviceManager[] = [];
function start(...args: Parameters<typeof managerIn>) {
  const started = managerIn(...args);
  managers.push(started.manager);
  return started;
}

/** Registers a plugin and waits for its devices. */
async function register(manager: DeviceManager, plugin: FakeDevicePlugin, socket = "p", resource = gpu) {
  plugins.set(socket, plugin);
  await manager.plugins.register(resource, socket, never);
  await settle();
}

const rejects = (work: Promise<unknown>, message: string | RegExp) =>
  assert.rejects(work, { code: "UnexpectedAdmissionError", message });

describe("registration", () => {
  it("devices are listed, and count in capacity and allocatable by their health", async () => {
    const { manager, changes, metrics } = start(dir, plugins);
    const plugin = new FakeDevicePlugin(["a", "b", "c"]);
    plugin.setHealth("b", "Unhealthy");
    plugins.set("/p", plugin);
    await manager.plugins.requested({ version: "v1beta1", resource: gpu, socketPath: "/p" }, never);
    await settle();
    assert.deepEqual(manager.amounts(), {
      capacity: { [gpu]: "3" },
      allocatable: { [gpu]: "2" },
      removed: [],
    });
    assert.equal(changes.length, 1);
    assert.deepEqual(await metricValues(metrics, "kubelet_device_plugin_registration_total"), {
      [`resource_name=${gpu}`]: 1,
    });
    assert.deepEqual(
      manager.all().flatMap(({ deviceIds }) => deviceIds),
      ["a", "c"],
    );
  });

  it("a plugin that registers ever more resources is rejected, others replace those that are gone", async () => {
    const { manager, clock } = start(dir, plugins);
    const plugin = new FakeDevicePlugin(["a"]);
    plugins.set("p", plugin);
    const add = (name: string) => manager.plugins.register(`vendor.example/${name}`, "p", never);
    await Promise.allSettled(Array.from({ length: 600 }, (_, i) => add(`r${i}`)));
    await settle();
    assert.equal(Object.keys(manager.amounts().capacity).length, 500);
    await assert.rejects(add("other"), /already 500 resources of device plugins/);
    await add("r0");
    manager.plugins.deregister("vendor.example/r7", "p");
    await clock.advance(1);
    manager.plugins.deregister("vendor.example/r3", "p");
    await add("other");
    const { capacity } = manager.amounts();
    assert.equal(Object.keys(capacity).length, 500);
    assert.deepEqual(
      ["r7", "r3", "other"].map((name) => `vendor.example/${name}` in capacity),
      [false, true, true],
    );
  });

  it("a plugin that registers in a loop is rejected, until some time has passed", async () => {
    const { manager, clock, metrics } = start(dir, plugins);
    const add = (i: number) =>
      manager.plugins
        .requested({ version: "v1beta1", resource: `vendor.example/r${i}`, socketPath: "/none" }, never)
        .then(
          () => assert.fail("registered"),
          ({ message }: Error) => message,
        );
    const all = await Promise.all(Array.from({ length: 5000 }, (_, i) => add(i)));
    assert.equal(all.filter((message) => message.startsWith("too many registrations")).length, 4500);
    await clock.advance(1000);
    assert.match(await add(0), /no plugin at/);
    for (let second = 0; second < 200; second++) {
      await Promise.all(Array.from({ length: 10 }, (_, i) => add(10_000 + 10 * second + i)));
      await clock.advance(1000);
    }
    const counted = await metricValues(metrics, "kubelet_device_plugin_registration_total");
    assert.equal(Object.keys(counted).length, 1000);
  });

  it("long names are cut in errors and logs", async () => {
    const lines: string[] = [];
    const logger = createLogger({
      format: "text",
      verbosity: 0,
      now: () => new Date(0),
      pid: 1,
      write: (line) => void lines.push(line),
    });
    const { manager } = start(dir, plugins, { logger });
    const resource = "x".repeat(1_000_000);
    const request = { version: "v1beta1", resource, socketPath: "/p" };
    await assert.rejects(
      manager.plugins.requested(request, never),
      ({ message }: Error) => message.length < 600,
    );
    const plugin = new FakeDevicePlugin(Array.from({ length: 1000 }, () => "y".repeat(1000)));
    await register(manager, plugin);
    assert.ok(lines.length >= 3);
    assert.ok(lines.join("").length < 10_000, `${lines.join("").length} characters`);
  });

  it("conflicts within the response of a plugin are logged in few lines", async () => {
    const lines: string[] = [];
    const logger = createLogger({
      format: "text",
      verbosity: 0,
      now: () => new Date(0),
      pid: 1,
      write: (line) => void lines.push(line),
    });
    const { manager } = start(dir, plugins, { logger });
    const plugin = new FakeDevicePlugin(["a"]);
    plugin.onAllocate = async () => [
      {
        mounts: Array.from({ length: 5000 }, (_, i) => ({
          containerPath: `/x${"y".repeat(1000)}`,
          hostPath: `/${i}`,
        })),
      },
    ];
    await register(manager, plugin);
    lines.length = 0;
    const pod = gpuPod("p", 1);
    await admit(manager, pod);
    await manager.devicesFor(pod, pod.spec.containers[0]!, never);
    const conflicts = lines.filter((line) => line.includes("conflicts=4999"));
    assert.equal(conflicts.length, 10);
    assert.ok(lines.join("").length < 10_000, `${lines.join("").length} characters`);
  });

  const invalid: [rule: string, version: string, resource: string, message: RegExp][] = [
    ["an unknown version", "v1alpha", gpu, /requested API version "v1alpha" is not supported by kubelet/],
    ["an invalid resource name", "v1beta1", "cpu", /the ResourceName "cpu" is invalid/],
    ["a socket that does not exist", "v1beta1", gpu, /no plugin at/],
  ];
  for (const [rule, version, resource, message] of invalid)
    it(`${rule} is rejected`, async () => {
      const { manager } = start(dir, plugins);
      await assert.rejects(
        manager.plugins.requested({ version, resource, socketPath: "/x" }, never),
        message,
      );
      assert.deepEqual(manager.amounts().capacity, {});
    });

  it("devices of a plugin that is gone are unhealthy, and the resource is removed after 5 minutes", async () => {
    const { manager, clock } = start(dir, plugins);
    const plugin = new FakeDevicePlugin(["a"]);
    await register(manager, plugin);
    plugin.kill();
    await settle();
    assert.deepEqual(manager.amounts(), {
      capacity: { [gpu]: "1" },
      allocatable: { [gpu]: "0" },
      removed: [],
    });
    await rejects(
      admit(manager, gpuPod("x", 1)),
      `no healthy devices present; cannot allocate unhealthy devices ${gpu}`,
    );
    assert.deepEqual(manager.fitAmounts(), {}, "the allocator decides");
    await clock.advance(300_001);
    assert.deepEqual(manager.amounts(), { capacity: {}, allocatable: {}, removed: [gpu] });
    assert.deepEqual(manager.fitAmounts(), { [gpu]: "0" });
    await register(manager, new FakeDevicePlugin(["a"]));
    assert.deepEqual(manager.amounts().allocatable, { [gpu]: "1" });
  });

  it("a list without changes is not reported, in any order, and one with changes is", async () => {
    const { manager, changes } = start(dir, plugins);
    const plugin = new FakeDevicePlugin(["a", "b"]);
    await register(manager, plugin);
    assert.equal(changes.length, 1);
    const listed = async (devices: FakeDevicePlugin["devices"]) => {
      plugin.devices = devices;
      plugin.list();
      await settle();
      return changes.length;
    };
    const ids = (...all: string[]) => all.map((ID) => ({ ID, health: "Healthy" }));
    assert.equal(await listed(ids("a", "b")), 1);
    assert.equal(await listed(ids("b", "a")), 1);
    assert.equal(await listed(ids("a", "c")), 2);
    assert.equal(await listed(ids("a")), 3);
    assert.equal(await listed([{ ID: "a", health: "Unhealthy" }]), 4);
    const topology = { nodes: [{ ID: 1n }] };
    assert.equal(await listed([{ ID: "a", health: "Unhealthy", topology }]), 5);
    plugin.kill();
    await settle();
    await register(manager, plugin);
    assert.equal(changes.length, 7, "the plugin is gone, and is back with the same devices");
  });

  it("while a pod has devices of a resource that was removed, others are rejected by the allocator", async () => {
    const { manager, clock } = start(dir, plugins);
    const plugin = new FakeDevicePlugin(["a"]);
    await register(manager, plugin);
    await admit(manager, gpuPod("x", 1));
    plugin.kill();
    await settle();
    await clock.advance(300_001);
    assert.deepEqual(manager.fitAmounts(), {});
    await rejects(admit(manager, gpuPod("y", 1)), `cannot allocate unregistered device ${gpu}`);
    manager.allocator.release("x" as PodUid);
    assert.deepEqual(manager.fitAmounts(), { [gpu]: "0" });
  });

  it("the end of a previous plugin does not affect the one that replaced it, at the same or at another socket", async () => {
    const { manager } = start(dir, plugins);
    const [old, same, next] = [["a"], ["a", "b"], ["a", "b", "c"]].map((ids) => new FakeDevicePlugin(ids));
    assert.ok(old && same && next);
    await register(manager, old);
    await register(manager, same);
    old.kill();
    await settle();
    assert.equal(manager.amounts().allocatable[gpu], "2");
    await register(manager, next, "q");
    same.setHealth("a", "Unhealthy");
    await settle();
    assert.equal(manager.amounts().allocatable[gpu], "3", "the newest counts");
    next.kill();
    await settle();
    assert.equal(manager.amounts().allocatable[gpu], "1", "the other one serves again, with its last list");
  });

  it("NUMA nodes that are no numbers of nodes are ignored: they could not be reported", async () => {
    const { manager } = start(dir, plugins);
    const plugin = new FakeDevicePlugin(["a"]);
    const nodes = [1n, 1n, 2n ** 63n - 1n, -(2n ** 63n), -1n].map((ID) => ({ ID }));
    plugin.devices = [{ ID: "a", health: "Healthy", topology: { nodes } }];
    await register(manager, plugin);
    assert.deepEqual(
      manager.all().map(({ topology }) => topology),
      [{ nodes: [{ ID: 1n }, { ID: -1n }] }],
    );
    await admit(manager, gpuPod("x", 1));
    assert.deepEqual(
      manager.of("x" as PodUid, "c0").map(({ topology }) => topology),
      [{ nodes: [{ ID: 1n }] }],
    );
  });

  it("a name that is not valid is not counted: each would be a time series", async () => {
    const { manager, metrics } = start(dir, plugins);
    const request = { version: "v1beta1", resource: "not valid", socketPath: "/x" };
    await assert.rejects(manager.plugins.requested(request, never));
    assert.deepEqual(await metricValues(metrics, "kubelet_device_plugin_registration_total"), {});
  });

  it("a plugin that does not return its options is not registered, and gets the message of the Go kubelet", async () => {
    const { manager } = start(dir, plugins);
    const plugin = new FakeDevicePlugin(["a"]);
    plugin.onOptions = async () => {
      throw new RpcError("UNKNOWN", "GetDevicePluginOptions", "no options");
    };
    await assert.rejects(register(manager, plugin), {
      message: "failed to get device plugin options: rpc error: code = Unknown desc = no options",
    });
    assert.deepEqual(manager.amounts().capacity, {});
  });

  it("devices without an ID and repeated IDs are ignored", async () => {
    const { manager } = start(dir, plugins);
    await register(manager, new FakeDevicePlugin(["a", "a", "", "b"]));
    assert.equal(manager.amounts().capacity[gpu], "2");
  });
});

describe("allocation", () => {
  it("a container gets its devices, and what the plugin responds", async () => {
    const { manager } = start(dir, plugins);
    const plugin = new FakeDevicePlugin(["a", "b", "c"]);
    await register(manager, plugin);
    const pod = gpuPod("x", 2, 1);
    await admit(manager, pod);
    assert.deepEqual([idsOf(manager, pod, "c0"), idsOf(manager, pod, "c1")], [["a", "b"], ["c"]]);
    const [first] = pod.spec.containers;
    assert.ok(first);
    assert.deepEqual((await manager.devicesFor(pod, first, never))?.env, new Map([["IDS", "a,b"]]));
    await admit(manager, pod);
    assert.deepEqual(plugin.calls, ["Allocate a,b", "Allocate c"], "once");
    const other = gpuPod("y", 1);
    await rejects(
      admit(manager, other),
      `requested number of devices unavailable for ${gpu}. Requested: 1, Available: 0`,
    );
    assert.equal(
      manager.allocator.explain(other, first),
      `${gpu}: 3 of 3 devices healthy, 3 in use by default/x`,
    );
    manager.allocator.release("x" as PodUid);
    await admit(manager, other);
    assert.deepEqual(idsOf(manager, other, "c0"), ["a"]);
    await manager.flushed();
    const { entries } = decodeCheckpoint(await readFile(join(dir, "kubelet_internal_checkpoint"), "utf8"));
    assert.deepEqual(
      entries.map(({ podUID, container, devices: ids }) => [podUID, container, [...ids]]),
      [["y", "c0", [[-1, ["a"]]]]],
    );
  });

  it("the time for many devices grows with their number, not with its square", async () => {
    const count = 30_000;
    const ids = Array.from({ length: count }, (_, i) => `device-${i}`);
    const { manager } = start(dir, plugins);
    const plugin = new FakeDevicePlugin(ids);
    plugin.onAllocate = async () => [{}];
    await register(manager, plugin);
    const timed = async (work: () => unknown) => {
      const startedAt = performance.now();
      await work();
      return performance.now() - startedAt;
    };
    // Sorting, decoding and writing them are part of the work, too.
    const floor = await timed(() => JSON.parse(JSON.stringify(ids.toSorted((a, b) => (a > b ? -1 : 1)))));
    const took = await timed(async () => {
      await admit(manager, gpuPod("x", count));
      assert.equal(manager.of("x" as PodUid, "c0").length, count);
    });
    assert.ok(took < 300 * floor, `${took} ms, sorting takes ${floor} ms`);
  });

  it("containers reuse devices of init containers, but not of sidecars", async () => {
    const { manager } = start(dir, plugins);
    await register(manager, new FakeDevicePlugin(["a", "b", "c"]));
    const pod = podOf("x", {
      initContainers: [devices(2), { ...devices(1), restartPolicy: "Always" }, devices(1)],
      containers: [devices(1), devices(1)],
    });
    await admit(manager, pod);
    const of = (name: string) => idsOf(manager, pod, name).join();
    assert.deepEqual([of("i0"), of("i1"), of("i2"), of("c0"), of("c1")], ["a,b", "a", "b", "b", "c"]);
  });

  it("the plugin may prefer devices, and is passed those that it must include", async () => {
    const { manager } = start(dir, plugins);
    const plugin = new FakeDevicePlugin(["a", "b", "c"]);
    plugin.options.getPreferredAllocationAvailable = true;
    const queries: unknown[] = [];
    plugin.onPreferred = async (...query) => {
      queries.push(query);
      return ["c", "unknown"];
    };
    await register(manager, plugin);
    const pod = podOf("x", { initContainers: [devices(1)], containers: [devices(2)] });
    await admit(manager, pod);
    assert.deepEqual([idsOf(manager, pod, "i0"), idsOf(manager, pod, "c0")], [["c"], ["a", "c"]]);
    assert.deepEqual(queries, [
      [["a", "b", "c"], [], 1],
      [["a", "b", "c"], ["c"], 2],
    ]);
  });

  it("an affinity is respected, and recorded with the devices", async () => {
    const { manager } = start(dir, plugins);
    const plugin = new FakeDevicePlugin(["a", "b"]);
    plugin.devices = ["a", "b"].map((ID, i) => ({
      ID,
      health: "Healthy",
      topology: { nodes: [{ ID: BigInt(i) }] },
    }));
    await register(manager, plugin);
    const pod = gpuPod("x", 1);
    const [container] = pod.spec.containers;
    assert.ok(container);
    assert.deepEqual(
      manager.allocator
        .hints(pod, container)
        .get(gpu)
        ?.map(({ numaNodes }) => numaNodes),
      [1n, 2n, 3n],
    );
    await manager.allocator.allocate(pod, container, { numaNodes: 2n, preferred: true }, never);
    assert.deepEqual(manager.of("x" as PodUid, "c0"), [
      { resourceName: gpu, deviceIds: ["b"], topology: { nodes: [{ ID: 1n }] } },
    ]);
    assert.deepEqual(manager.allocator.hints(pod, container).get(gpu), [
      { numaNodes: 2n, preferred: true },
      { numaNodes: 3n, preferred: false },
    ]);
    assert.deepEqual(manager.allocator.podHints(gpuPod("y", 2)).get(gpu), [], "only one is left");
  });

  const failures: [rule: string, fail: (plugin: FakeDevicePlugin) => void, message: string | RegExp][] = [
    [
      "an error",
      (p) => {
        p.onAllocate = async () => {
          throw new Error("rpc error: code = Internal desc = broken");
        };
      },
      "rpc error: code = Internal desc = broken",
    ],
    [
      "a response without a container",
      (p) => {
        p.onAllocate = async () => [];
      },
      "no containers return in allocation response",
    ],
    [
      "a failed preference",
      (p) => {
        p.options.getPreferredAllocationAvailable = true;
        p.onPreferred = async () => {
          throw new Error("no");
        };
      },
      "device plugin GetPreferredAllocation rpc failed with err: no",
    ],
    [
      "a plugin that dies",
      (p) => {
        p.onAllocate = () => {
          p.kill();
          return new Promise(() => {});
        };
      },
      "the device plugin was replaced or disconnected",
    ],
  ];
  for (const [rule, fail, message] of failures)
    it(`${rule} rejects the pod, and its devices are free`, async () => {
      const { manager } = start(dir, plugins);
      const plugin = new FakeDevicePlugin(["a"]);
      fail(plugin);
      await register(manager, plugin);
      await rejects(admit(manager, gpuPod("x", 1)), message);
      const good = new FakeDevicePlugin(["a"]);
      await register(manager, good);
      await admit(manager, gpuPod("y", 1));
      assert.deepEqual(good.calls, ["Allocate a"]);
    });

  it("a plugin that hangs blocks pods of its resource only, until they are terminated", async () => {
    const { manager } = start(dir, plugins);
    const stuck = new FakeDevicePlugin(["a", "b"]);
    stuck.onAllocate = () => new Promise(() => {});
    await register(manager, stuck);
    await register(manager, new FakeDevicePlugin(["a"]), "q", "vendor.example/nic");
    const abort = new AbortController();
    const first = admit(manager, gpuPod("x", 1), abort.signal);
    const second = admit(manager, gpuPod("y", 1), abort.signal);
    await admit(manager, podOf("z", { containers: [devices(1, "vendor.example/nic")] }));
    assert.match(
      manager.allocator.waitsFor(gpuPod("y", 1)) ?? "",
      /waiting for devices, .*: 2 of 2 devices healthy, none in use/,
    );
    abort.abort();
    await assert.rejects(first);
    await assert.rejects(second);
    assert.deepEqual(stuck.calls, ["Allocate a"], "the second one was never sent");
  });

  it("a pod waits for devices of pods that are being terminated, if these are enough", async () => {
    const terminating = new Set<PodUid>();
    const { manager } = start(dir, plugins, { terminating });
    await register(manager, new FakeDevicePlugin(["a", "b"]));
    await admit(manager, gpuPod("x", 1));
    await admit(manager, gpuPod("y", 1));
    terminating.add("x" as PodUid);
    await rejects(admit(manager, gpuPod("large", 2)), /Requested: 2, Available: 0/);
    let isAdmitted = false;
    const next = gpuPod("z", 1);
    const waiting = admit(manager, next).then(() => {
      isAdmitted = true;
    });
    await settle();
    assert.equal(isAdmitted, false);
    assert.match(manager.allocator.waitsFor(next) ?? "", /2 in use by default\/x, default\/y/);
    manager.allocator.release("x" as PodUid);
    await waiting;
    assert.deepEqual(idsOf(manager, next, "c0"), ["a"]);
  });

  it("a resource that no plugin has is not allocated; once it has one, before the container starts", async () => {
    const { manager } = start(dir, plugins);
    const pod = gpuPod("x", 1);
    const [container] = pod.spec.containers;
    assert.ok(container);
    assert.equal(manager.allocator.appliesTo(pod), false);
    assert.equal(await manager.devicesFor(pod, container, never), undefined);
    await register(manager, new FakeDevicePlugin(["a"]));
    assert.deepEqual((await manager.devicesFor(pod, container, never))?.env, new Map([["IDS", "a"]]));
  });

  it("devices are prepared before each start of a container, if the plugin requires it", async () => {
    const { manager } = start(dir, plugins);
    const plugin = new FakeDevicePlugin(["a"]);
    plugin.options.preStartRequired = true;
    await register(manager, plugin);
    const pod = gpuPod("x", 1);
    const [container] = pod.spec.containers;
    assert.ok(container);
    await admit(manager, pod);
    await manager.devicesFor(pod, container, never);
    await manager.devicesFor(pod, container, never);
    assert.deepEqual(plugin.calls, ["Allocate a", "PreStartContainer a", "PreStartContainer a"]);
    plugin.onPreStart = async () => {
      throw new Error("reset failed");
    };
    await assert.rejects(
      manager.devicesFor(pod, container, never),
      /device plugin PreStartContainer rpc failed with err: reset failed/,
    );
    plugin.kill();
    await settle();
    await assert.rejects(manager.devicesFor(pod, container, never), /has been stopped/);
  });

  it("a checkpoint that cannot be written rejects the pod", async () => {
    const { manager } = start(join(dir, "file"), plugins);
    await writeFile(join(dir, "file"), "");
    await register(manager, new FakeDevicePlugin(["a"]));
    const pod = gpuPod("x", 1);
    await assert.rejects(
      admit(manager, pod),
      /failed to write checkpoint file "kubelet_internal_checkpoint"/,
    );
    assert.deepEqual(idsOf(manager, pod, "c0"), []);
  });

  it("the health of allocated devices is reported, and changes name the pod", async () => {
    const { manager, changes } = start(dir, plugins);
    const plugin = new FakeDevicePlugin(["a", "b"]);
    await register(manager, plugin);
    await admit(manager, gpuPod("x", 1));
    plugin.setHealth("b", "Unhealthy");
    assert.deepEqual(changes.at(-1), []);
    plugin.setHealth("a", "Unhealthy");
    assert.deepEqual(changes.at(-1), ["x"]);
    assert.deepEqual(manager.healthOf("x" as PodUid, "c0"), [
      { name: gpu, resources: [{ resourceID: "a", health: "Unhealthy" }] },
    ]);
  });
});

describe("a restart of the agent", () => {
  /** With one pod, which has device a; device b is free. */
  async function restarted(more: { live?: PodUid[] } = {}) {
    const own = await mkdtemp(join(dir, "restarted-"));
    const before = start(own, plugins).manager;
    await before.start();
    assert.equal(before.isNewNode(), true);
    const plugin = new FakeDevicePlugin(["a", "b"]);
    await register(before, plugin);
    const pod = gpuPod("x", 1);
    await admit(before, pod);
    await before.plugins.stop();
    const clock = new FakeClock();
    const { manager } = start(own, plugins, { clock, live: new Set(more.live) });
    await manager.start();
    assert.equal(manager.isNewNode(), false);
    return { manager, pod, plugin, clock };
  }

  it("a running pod keeps its devices, without its plugin", async () => {
    const { manager, pod, plugin } = await restarted({ live: ["x" as PodUid] });
    assert.deepEqual(manager.amounts(), {
      capacity: { [gpu]: "0" },
      allocatable: { [gpu]: "0" },
      removed: [],
    });
    await admit(manager, pod);
    assert.deepEqual(idsOf(manager, pod, "c0"), ["a"]);
    const [container] = pod.spec.containers;
    assert.ok(container);
    assert.deepEqual((await manager.devicesFor(pod, container, never))?.env, new Map([["IDS", "a"]]));
    assert.deepEqual(plugin.calls, ["Allocate a"]);
  });

  it("another pod waits for the plugin, and gets another device", async () => {
    const { manager, plugin } = await restarted();
    const other = gpuPod("y", 1);
    assert.equal(manager.allocator.waitsFor(other), `waiting for device plugins to register: ${gpu}`);
    const admitted = admit(manager, other);
    await register(manager, plugin);
    await admitted;
    assert.deepEqual(idsOf(manager, other, "c0"), ["b"]);
  });

  it("a pod that does not run is rejected if the plugin does not register in time, or without its device", async () => {
    const { manager, pod, clock } = await restarted();
    const late = rejects(admit(manager, pod), /no healthy devices present/);
    await clock.advance(60_000);
    await late;
    await register(manager, new FakeDevicePlugin(["b", "c"]));
    const again = await restarted();
    const other = rejects(
      admit(again.manager, again.pod),
      `previously allocated devices are no longer healthy; cannot allocate unhealthy devices ${gpu}`,
    );
    await register(again.manager, new FakeDevicePlugin(["b", "c"]));
    await other;
  });

  it("a container that requests another number of devices is rejected", async () => {
    const { manager } = await restarted({ live: ["x" as PodUid] });
    await rejects(
      manager.allocator.allocate(gpuPod("x", 2), gpuPod("x", 2).spec.containers[0] as never, anyNode, never),
      `pod "x" container "c0" changed request for resource "${gpu}" from 1 to 2`,
    );
  });

  it("devices of pods that are gone are released, unless their containers are still running", async () => {
    const { manager, pod } = await restarted({ live: ["x" as PodUid] });
    manager.allocator.keepOnly(() => false);
    assert.deepEqual(idsOf(manager, pod, "c0"), ["a"]);
    const ended = await restarted();
    ended.manager.allocator.keepOnly(() => false);
    assert.deepEqual(idsOf(ended.manager, pod, "c0"), []);
  });

  it("a corrupt checkpoint does not prevent startup", async () => {
    await writeFile(join(dir, "kubelet_internal_checkpoint"), "{");
    const { manager } = start(dir, plugins);
    await manager.start();
    await register(manager, new FakeDevicePlugin(["a"]));
    await admit(manager, gpuPod("x", 1));
    const { entries } = decodeCheckpoint(await readFile(join(dir, "kubelet_internal_checkpoint"), "utf8"));
    assert.equal(entries.length, 1);
  });
});
