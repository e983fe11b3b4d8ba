import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { KubeletError } from "../../../../lib/base/errors.ts";
import { FakeClock } from "../../../../lib/base/fake-clock.ts";
import { createMetrics, type Metrics } from "../../../../lib/base/metrics.ts";
import { msBetween } from "../../../../lib/base/time.ts";
import type { Pod, PodUid, Volume } from "../../../../lib/model/pod.ts";
import { ExpansionError } from "../persistent/volume-expander.ts";
import { claimSpec, FakeVolumeHost, podWithVolumes } from "./fake-volumes.ts";
import type { VolumeManager, VolumeManagerOptions } from "./volume-manager.ts";

const never = new AbortController().signal;

async function started(over: Partial<VolumeManagerOptions> | ((host: FakeVolumeHost) => object) = {}) {
  const clock = new FakeClock();
  const host = new FakeVolumeHost(clock);
  const manager = host.manager(typeof over === "function" ? over(host) : over);
  await manager.start(never);
  return { clock, host, manager };
}

/** The result of a wait, without awaiting it. */
function outcome(wait: Promise<void>): { done: boolean | undefined; error: Error | undefined } {
  const result: { done: boolean | undefined; error: Error | undefined } = {
    done: undefined,
    error: undefined,
  };
  wait.then(
    () => (result.done = true),
    (error) => (result.error = error),
  );
  return result;
}

class CountingClock extends FakeClock {
  timers = 0;

  override after(ms: number, callback: () => void): () => void {
    this.timers++;
    return super.after(ms, callback);
  }
}

const uid = "a" as PodUid;
const byText = (a: string, b: string) => (a < b ? -1 : 1);

/** The operations in the metrics, by result. */
const counted = async (metrics: Metrics) => {
  const text = await metrics.registry.metrics();
  const lines = text.matchAll(/^storage_operation_duration_seconds_count\{(.*)\} (\d+)$/gm);
  return [...lines]
    .map(([, labels, count]) => {
      const value = (name: string) => new RegExp(`${name}="([^"]*)"`).exec(labels!)?.[1];
      return `${value("operation_name")} ${value("status")} ${count}`;
    })
    .sort(byText);
};

describe("waiting for the volumes of a pod", () => {
  test("a pod without volumes waits for nothing", async () => {
    const { manager } = await started();
    await manager.waitFor(podWithVolumes("a", []), never);
  });

  test("all volumes are set up in parallel, and the wait ends when the last is mounted", async () => {
    const { clock, host, manager } = await started();
    const result = outcome(manager.waitFor(podWithVolumes("a", ["x", "y", "z"], ["c"]), never));
    await clock.advance(9);
    assert.equal(result.done, undefined);
    assert.equal(host.calls.length, 4);
    await clock.advance(11); // the claim takes two steps
    assert.equal(result.done, true);
    assert.deepEqual([...host.mounted.keys()].sort(byText), [
      "/root/pods/a/volumes/fake~own/x",
      "/root/pods/a/volumes/fake~own/y",
      "/root/pods/a/volumes/fake~own/z",
      "/root/pods/a/volumes/fake~shared/pv-c",
    ]);
    assert.deepEqual(manager.inUse(), ["fake/shared/pv-c"]);
  });

  test("many volumes that are set up one at a time take few passes", async () => {
    const clock = new CountingClock();
    const host = new FakeVolumeHost(clock);
    const ends: (() => void)[] = [];
    const setUp = () => new Promise<void>((resolve) => void ends.push(resolve));
    const manager = host.manager({ plugins: [host.plugin("own", { setUp })] });
    await manager.start(never);
    const names = Array.from({ length: 2000 }, (_, index) => `v${index}`);
    const result = outcome(manager.waitFor(podWithVolumes("a", names), never));
    await clock.advance(1);
    assert.equal(ends.length, names.length);
    const before = clock.timers;
    for (const end of ends) {
      end();
      for (let turns = 0; turns < 20; turns++) await Promise.resolve();
    }
    await clock.advance(20);
    assert.equal(result.done, true);
    // Each pass sets a timer.
    assert.ok(clock.timers - before < names.length / 4, `${clock.timers - before} timers`);
  });

  // parity: event FailedMount
  test("after 2 min 3 s it fails with the missing volumes and the cause; the event has upstream's message", async () => {
    const { clock, host, manager } = await started((host) => ({
      plugins: [
        host.plugin("own", {
          setUp: async ({ spec }) => {
            if (spec.name === "data") throw new KubeletError("NotFound", 'secret "s" not found');
          },
        }),
      ],
    }));
    const result = outcome(manager.waitFor(podWithVolumes("a", ["other", "data"]), never));
    await clock.advance(1_000);
    assert.deepEqual(manager.waiting(uid), ['waiting for volume data: secret "s" not found']);
    assert.equal(
      host.events[0],
      'FailedMount: MountVolume.SetUp failed for volume "data" : secret "s" not found',
    );
    await clock.advance(121_999);
    assert.equal(Object.values(result).some(Boolean), false);
    await clock.advance(1);
    assert.equal(
      result.error?.message,
      'unmounted volumes=[data]: MountVolume.SetUp failed for volume "data": secret "s" not found',
    );
  });

  test("a PVC that cannot be used ends the wait immediately, with an event", async () => {
    const { clock, host, manager } = await started({
      resolveClaim: async () => {
        throw new Error("error processing PVC default/c: PVC is not bound");
      },
    });
    const result = outcome(manager.waitFor(podWithVolumes("a", ["x"], ["c"]), never));
    await clock.advance(20);
    const processed = "failed to process volumes=[claim-c]: error processing PVC default/c: PVC is not bound";
    assert.equal(result.error?.message, `unmounted volumes=[claim-c x], ${processed}`);
    const lists = `unmounted volumes=[claim-c x], unattached volumes=[], ${processed}`;
    assert.deepEqual(host.events, [`FailedMount: Unable to attach or mount volumes: ${lists}`]);
  });

  test("a PVC that is bound later is used by the next wait", async () => {
    let bound = false;
    const { clock, manager } = await started({
      resolveClaim: async (_pod, volume) => {
        if (!bound) throw new Error("PVC is not bound");
        return { spec: claimSpec(volume) };
      },
    });
    const pod = podWithVolumes("a", [], ["c"]);
    const first = outcome(manager.waitFor(pod, never));
    await clock.advance(10);
    assert.match(first.error?.message ?? "", /not bound/);
    bound = true;
    const second = outcome(manager.waitFor(pod, never));
    await clock.advance(30);
    assert.equal(second.done, true);
  });

  test("a block volume cannot be mounted, nor a filesystem passed as a device", async () => {
    const { clock, manager } = await started({
      resolveClaim: async (_pod, volume) => {
        const spec = claimSpec(volume);
        return { spec: { ...spec, persistent: { ...spec.persistent!, mode: "Block" } } };
      },
    });
    const result = outcome(manager.waitFor(podWithVolumes("a", [], ["c"]), never));
    await clock.advance(1);
    assert.match(
      result.error?.message ?? "",
      /volume claim-c has volumeMode Block, but is specified in volumeMounts$/,
    );
  });

  test("a volume that no plugin handles is an error", async () => {
    const { clock, manager } = await started({ plugins: [] });
    const result = outcome(manager.waitFor(podWithVolumes("a", ["x"]), never));
    await clock.advance(1);
    assert.match(result.error?.message ?? "", /for volume "x" err=no volume plugin matched$/);
  });

  test("an abort ends the wait, and mounting continues", async () => {
    const { clock, host, manager } = await started();
    const abort = new AbortController();
    const result = outcome(manager.waitFor(podWithVolumes("a", ["x"]), abort.signal));
    await clock.advance(1);
    abort.abort();
    await clock.advance(20);
    assert.equal(result.error?.name, "AbortError");
    assert.equal(result.error?.message, "unmounted volumes=[x]: aborted");
    assert.equal(host.mounted.size, 1);
  });
});

describe("failures", () => {
  test("are retried after 500 ms, then after twice the delay each time, up to 2 min 2 s", async () => {
    const { clock, host, manager } = await started();
    host.behavior.set("fake/own/a-x", { failures: 1_000 });
    manager.register(podWithVolumes("a", ["x"]));
    await clock.advance(500_000);
    const pauses = host.times.slice(1).map((time, i) => (msBetween(host.times[i]!, time) - 10) / 1000);
    assert.deepEqual(pauses, [0.5, 1, 2, 4, 8, 16, 32, 64, 122, 122, 122]);
  });

  test("a call that hangs blocks its own volume only, and the pod can be released once it returns", async () => {
    const { clock, host, manager } = await started();
    host.behavior.set("fake/own/a-x", { hangs: true });
    const stuck = outcome(manager.waitFor(podWithVolumes("a", ["x", "y"]), never));
    const other = outcome(manager.waitFor(podWithVolumes("b", ["x"]), never));
    await clock.advance(20);
    assert.equal(other.done, true);
    assert.equal(stuck.done, undefined);
    assert.deepEqual(manager.waiting(uid), ["waiting for volume x"]);
    const released = outcome(manager.release(uid, never));
    await clock.advance(1_000);
    assert.equal(released.done, undefined);
    assert.equal(host.mounted.has("/root/pods/a/volumes/fake~own/y"), false);
    host.behavior.get("fake/own/a-x")!.hangs = false;
    await clock.advance(1_000);
    assert.equal(released.done, true);
    assert.deepEqual(manager.inUse(), []);
  });

  test("a release aborts a running mount", async () => {
    const { clock, host, manager } = await started();
    host.behavior.set("fake/own/a-x", { hangs: true, respectsAbort: true });
    manager.register(podWithVolumes("a", ["x"]));
    await clock.advance(200);
    const released = outcome(manager.release(uid, never));
    host.behavior.delete("fake/own/a-x");
    await clock.advance(200);
    assert.equal(released.done, true);
    assert.deepEqual(host.calls, ["setUp fake/own/a-x", "tearDown fake/own/a-x"]);
    assert.deepEqual(host.events, []);
  });

  test("a failed tear-down is retried, without an event", async () => {
    const { clock, host, manager } = await started();
    manager.register(podWithVolumes("a", ["x"]));
    await clock.advance(20);
    host.behavior.set("fake/own/a-x", { failures: 2 });
    const released = outcome(manager.release(uid, never));
    await clock.advance(600);
    assert.equal(released.done, undefined);
    await clock.advance(2_000);
    assert.equal(released.done, true);
    assert.deepEqual(host.events, []);
  });

  test("a release that times out names what is still mounted", async () => {
    const { clock, host, manager } = await started();
    manager.register(podWithVolumes("a", ["x"]));
    await clock.advance(20);
    host.behavior.set("fake/own/a-x", { failures: 1_000 });
    const released = outcome(manager.release(uid, never));
    await clock.advance(123_000);
    assert.equal(released.error?.message, "mounted volumes=[fake/own/a-x]: tearDown is out of order");
  });
});

describe("volumes that pods share", () => {
  test("have one device mount, which is unmounted after the last pod", async () => {
    const { clock, host, manager } = await started();
    for (const name of ["a", "b"]) manager.register(podWithVolumes(name, [], ["c"]));
    await clock.advance(100);
    assert.equal(host.calls.filter((call) => call.startsWith("mountDevice")).length, 1);
    await Promise.all([manager.release(uid, never), clock.advance(100)]);
    assert.deepEqual([...host.devices], ["/devices/pv-c"]);
    await Promise.all([manager.release("b" as PodUid, never), clock.advance(100)]);
    assert.equal(host.devices.size, 0);
    assert.deepEqual(host.violations, []);
    assert.deepEqual(manager.inUse(), []);
  });

  test("are used by one pod at a time if they are ReadWriteOncePod", async () => {
    const { clock, host, manager } = await started({
      resolveClaim: async (_pod, volume) => {
        const spec = claimSpec(volume);
        const persistent = { ...spec.persistent!, spec: { accessModes: ["ReadWriteOncePod"] } };
        return { spec: { ...spec, persistent } };
      },
    });
    manager.register(podWithVolumes("a", [], ["c"]));
    await clock.advance(50);
    const second = outcome(manager.waitFor(podWithVolumes("b", [], ["c"]), never));
    await clock.advance(50);
    assert.equal(
      host.events[0],
      'FailedMount: MountVolume.SetUp failed for volume "pv-c" : volume uses the ReadWriteOncePod access mode and is already in use by another pod',
    );
    await Promise.all([manager.release(uid, never), clock.advance(3_000)]);
    assert.equal(second.done, true);
  });
});

describe("volumes that require remounts", () => {
  const remounting = (host: FakeVolumeHost) => ({ plugins: [host.plugin("own", { requiresRemount: true })] });

  test("are set up again when their source or the pod changed, and once a minute with a sync", async () => {
    const { clock, host, manager } = await started(remounting);
    const pod = podWithVolumes("a", ["x"]);
    const calls = async (act: () => void) => {
      const before = host.calls.length;
      act();
      await clock.advance(50);
      return host.calls.length - before;
    };
    assert.equal(await calls(() => manager.register(pod)), 1);
    assert.equal(await calls(() => manager.register(pod)), 0);
    const { metadata, spec } = pod;
    const changes: [string, Partial<Pod>, number][] = [
      ["another object with the same content", {}, 0],
      ["its status", { status: { phase: "Running" } as Pod["status"] }, 0],
      ["its resourceVersion", { metadata: { ...metadata, resourceVersion: "9" } }, 0],
      ["a label", { metadata: { ...metadata, labels: { a: "1" } } }, 1],
      ["an annotation", { metadata: { ...metadata, labels: { a: "1" }, annotations: { b: "2" } } }, 1],
      ["its spec", { spec: { ...spec, hostname: "other" } }, 1],
    ];
    for (const [what, change, times] of changes)
      assert.equal(await calls(() => manager.register({ ...structuredClone(pod), ...change })), times, what);
    assert.equal(await calls(() => manager.changed([uid])), 1);
    assert.equal(await calls(() => manager.changed(["other" as PodUid])), 0);
    await clock.advance(60_000);
    assert.equal(await calls(() => manager.register(pod)), 1);
  });

  // parity: event VolumeResizeFailed
  test("that fail to expand report it: VolumeResizeFailed in use, otherwise FailedMount", async () => {
    let failing = true;
    const setUp = async () => {
      if (failing) throw new ExpansionError("failed", "input/output error");
    };
    const { clock, host, manager } = await started((fake) => ({
      plugins: [fake.plugin("own", { requiresRemount: true, setUp })],
    }));
    manager.register(podWithVolumes("a", ["x"]));
    await clock.advance(50);
    failing = false;
    manager.changed([uid]);
    await clock.advance(1000);
    assert.notEqual(manager.mounted(uid, "x"), undefined);
    failing = true;
    manager.changed([uid]);
    await clock.advance(50);
    assert.deepEqual(host.events, [
      'FailedMount: MountVolume.Setup failed while expanding volume for volume "x" : input/output error',
      'VolumeResizeFailed: NodeExpandVolume.NodeExpandVolume failed for volume "x" : input/output error',
    ]);
    assert.notEqual(manager.mounted(uid, "x"), undefined);
  });

  test("a change during setUp causes one more setUp", async () => {
    const { clock, host, manager } = await started(remounting);
    manager.register(podWithVolumes("a", ["x"]));
    await clock.advance(5);
    manager.changed([uid]);
    manager.changed([uid]);
    await clock.advance(100);
    assert.equal(host.calls.length, 2);
  });

  test("a resync ends the back-off of the chosen volumes only", async () => {
    const { clock, host, manager } = await started(remounting);
    for (const name of ["x", "y"]) host.behavior.set(`fake/own/a-${name}`, { failures: 8 });
    manager.register(podWithVolumes("a", ["x", "y"]));
    await clock.advance(70_000);
    host.calls.length = 0;
    const seen: string[] = [];
    manager.resync(({ plugin, spec, step }) => {
      seen.push(`${plugin} ${spec?.name} ${step}`);
      return spec?.name === "x";
    });
    await clock.advance(20);
    assert.deepEqual(
      seen.sort(),
      ["x", "y"].map((name) => `fake/own ${name} MountVolume.SetUp failed`),
    );
    assert.deepEqual(host.calls, ["setUp fake/own/a-x"]);
  });

  test("a release that is aborted names the volumes that are still mounted, and why", async () => {
    const { clock, host, manager } = await started(remounting);
    const pod = podWithVolumes("a", ["x"]);
    await Promise.all([manager.waitFor(pod, never), clock.advance(50)]);
    host.behavior.set("fake/own/a-x", { failures: 8 });
    const stop = new AbortController();
    const result = outcome(manager.release(uid, stop.signal));
    await clock.advance(1000);
    stop.abort();
    await clock.advance(0);
    assert.match((result.error as Error).message, /^mounted volumes=\[fake\/own\/a-x\]: .*tearDown/);
  });

  test("a change ends the back-off", async () => {
    const { clock, host, manager } = await started(remounting);
    host.behavior.set("fake/own/a-x", { failures: 8 });
    const result = outcome(manager.waitFor(podWithVolumes("a", ["x"]), never));
    await clock.advance(70_000);
    host.behavior.delete("fake/own/a-x");
    manager.changed([uid]);
    await clock.advance(20);
    assert.equal(result.done, true);
  });

  test("a failed update is reported by an event, and the volume remains in use", async () => {
    const { clock, host, manager } = await started(remounting);
    const pod = podWithVolumes("a", ["x"]);
    await Promise.all([manager.waitFor(pod, never), clock.advance(50)]);
    host.behavior.set("fake/own/a-x", { failures: 1 });
    manager.changed([uid]);
    await clock.advance(50);
    assert.match(host.events[0] ?? "", /^FailedMount: /);
    await manager.waitFor(pod, never);
    assert.deepEqual(manager.waiting(uid), []);
  });
});

test("an expanded PVC is noticed, however often its pod is synced", async () => {
  let size = "1Gi";
  const result: (string | undefined)[] = [];
  const { clock, manager } = await started((host) => ({
    plugins: [
      host.plugin("shared", {
        device: undefined,
        setUp: async ({ spec }) => void result.push(spec.persistent?.spec.capacity?.storage),
      }),
    ],
    resolveClaim: async (_pod: unknown, volume: Volume) => {
      const spec = claimSpec(volume);
      return { spec: { ...spec, persistent: { ...spec.persistent, spec: { capacity: { storage: size } } } } };
    },
  }));
  const pod = podWithVolumes("a", [], ["c"]);
  await manager.waitFor(pod, never);
  size = "2Gi";
  for (let second = 0; second < 10; second++) {
    manager.register(pod);
    await clock.advance(1_000);
  }
  assert.deepEqual(result, ["1Gi", "2Gi"]);
});

describe("volumes that a controller attaches", () => {
  test("are reported in use before their attachment is verified, and mounted only then", async () => {
    const reported: string[] = [];
    const verified: string[] = [];
    const attached = Promise.withResolvers<void>();
    const { clock, host, manager } = await started((host) => ({
      onInUseChange: () => reported.push(manager.inUse()?.join() ?? "?"),
      plugins: [
        host.plugin("shared", {
          device: {
            ...host.plugin("shared").device!,
            waitForAttach: async (_pod, _spec, _signal, verify) => void (await verify?.()),
          },
        }),
      ],
      operations: host.operations({
        verifyAttached: (unique) => {
          verified.push(`${unique} after ${reported.join()}`);
          return attached.promise.then(() => "");
        },
      }),
    }));
    manager.register(podWithVolumes("a", [], ["c"]));
    await clock.advance(5_000);
    assert.deepEqual(verified, ["fake/shared/pv-c after fake/shared/pv-c"]);
    assert.deepEqual(host.calls, []);
    attached.resolve();
    await clock.advance(1_000);
    assert.equal(host.mounted.size, 1);
    const released = manager.release(uid, never);
    await clock.advance(1_000);
    await released;
    assert.deepEqual(reported, ["fake/shared/pv-c", ""]);
  });

  // parity: event SuccessfulAttachVolume, event FailedAttachVolume, field enableControllerAttachDetach
  test("are attached and detached by the agent with enableControllerAttachDetach: false", async () => {
    const steps: string[] = [];
    const metrics = createMetrics();
    let failures = 1;
    const { clock, host, manager } = await started((host) => {
      const device = host.plugin("shared").device!;
      return {
        metrics,
        plugins: [
          host.plugin("shared", {
            device: {
              ...device,
              attach: async ({ name }) => {
                steps.push(`attach ${name}`);
                if (failures-- > 0) throw new Error("no slot");
                return "/dev/x";
              },
              waitForAttach: async (_pod, _spec, _signal, verify) =>
                void steps.push(`wait ${await verify?.()}`),
              unmountDevice: async (dir, signal) => {
                await device.unmountDevice(dir, signal);
                steps.push("unmount");
              },
              detach: async ({ name }) => void steps.push(`detach ${name}`),
            },
          }),
        ],
        operations: host.operations({
          attaches: true,
          verifyAttached: () => assert.fail("no controller attaches it"),
        }),
      };
    });
    manager.register(podWithVolumes("a", [], ["c"]));
    await clock.advance(300);
    const failed = 'AttachVolume.Attach failed for volume "pv-c" : no slot';
    assert.deepEqual(host.events, [`FailedAttachVolume: ${failed}`]);
    assert.deepEqual(manager.inUse(), ["fake/shared/pv-c"]);
    await clock.advance(5_000);
    manager.register(podWithVolumes("b", [], ["c"]));
    await clock.advance(5_000);
    assert.equal(host.mounted.size, 2);
    assert.deepEqual(host.events.slice(1), [
      'SuccessfulAttachVolume: AttachVolume.Attach succeeded for volume "pv-c" ',
    ]);
    assert.deepEqual(steps, ["attach pv-c", "attach pv-c", "wait /dev/x", "wait /dev/x"]);
    steps.length = 0;
    for (const pod of ["a", "b"] as PodUid[]) {
      const released = manager.release(pod, never);
      await clock.advance(5_000);
      await released;
    }
    assert.deepEqual(steps, ["unmount", "detach pv-c"]);
    assert.deepEqual(manager.inUse(), []);
    const operations = (await counted(metrics)).filter((line) => !/^volume_(?:mount|unmount) /.test(line));
    assert.deepEqual(operations, [
      "unmount_device success 1",
      "volume_attach fail-unknown 1",
      "volume_attach success 1",
      "volume_detach success 1",
    ]);
  });

  test("have nothing to be attached if their plugin has no attach()", async () => {
    const { clock, host, manager } = await started((host) => ({
      plugins: [
        host.plugin("shared", {
          device: {
            ...host.plugin("shared").device!,
            waitForAttach: async (_pod, _spec, _signal, verify) => void (await verify?.()),
          },
        }),
      ],
      operations: host.operations({ attaches: true }),
    }));
    manager.register(podWithVolumes("a", [], ["c"]));
    await clock.advance(1_000);
    const attached = 'SuccessfulAttachVolume: AttachVolume.Attach succeeded for volume "pv-c" ';
    assert.deepEqual([host.events, host.mounted.size], [[attached], 1]);
  });

  // parity: event FailedMountOnFilesystemMismatch
  test("that are formatted with another filesystem are also an event about the PersistentVolume", async () => {
    const why = "failed to mount the volume as xfs, it already contains ext4";
    const volumeEvents: unknown[][] = [];
    const { clock, host, manager } = await started((host) => ({
      plugins: [
        host.plugin("shared", {
          device: {
            ...host.plugin("shared").device!,
            mountDevice: async () => {
              // As a local volume wraps it.
              const cause = new KubeletError("FilesystemMismatch", "xfs");
              throw new KubeletError("Volume", why, { cause });
            },
          },
        }),
      ],
      volumeEvents: { warning: (...event: unknown[]) => volumeEvents.push(event) },
      resolveClaim: async (_pod: Pod, volume: Volume) => {
        const spec = claimSpec(volume);
        return { spec: { ...spec, persistent: { ...spec.persistent!, volumeUid: "uid-of-pv" } } };
      },
    }));
    manager.register(podWithVolumes("a", [], ["c"]));
    await clock.advance(300);
    assert.deepEqual(host.events, [`FailedMount: MountVolume.MountDevice failed for volume "pv-c" : ${why}`]);
    assert.deepEqual(volumeEvents, [
      [
        { name: "pv-c", uid: "uid-of-pv" },
        "FailedMountOnFilesystemMismatch",
        `MountVolume failed for volume "pv-c" ${why}`,
      ],
    ]);
  });

  // parity: event FailedMount
  for (const [what, attachFails, events] of [
    ["is no event: the controller that attaches reports failures", true, []],
    [
      "is an event if the device of an attached volume is missing",
      false,
      ['FailedMount: MountVolume.WaitForAttach failed for volume "pv-c" : not there'],
    ],
  ] as const)
    test(`a wait for the attachment that fails ${what}`, async () => {
      const { clock, host, manager } = await started((host) => ({
        plugins: [
          host.plugin("shared", {
            device: {
              ...host.plugin("shared").device!,
              waitForAttach: async (_pod, _spec, _signal, verify) => {
                await verify?.();
                throw new Error("not there");
              },
            },
          }),
        ],
        operations: host.operations({
          verifyAttached: async () => {
            if (attachFails) throw new Error("Volume not attached according to node status");
            return "";
          },
        }),
      }));
      manager.register(podWithVolumes("a", [], ["c"]));
      await clock.advance(300);
      assert.deepEqual([...new Set(host.events)], events);
      const why = attachFails ? "Volume not attached according to node status" : "not there";
      assert.deepEqual(manager.waiting(uid), [`waiting for volume claim-c: ${why}`]);
    });

  for (const isExhausted of [true, false])
    test(`${isExhausted ? "a pod is rejected if they exceed the node's limit" : "a wait fails if they cannot be attached below the node's limit"}`, async () => {
      const { clock, manager } = await started((host) => ({
        plugins: [
          host.plugin("shared", {
            device: {
              ...host.plugin("shared").device!,
              waitForAttach: async () => {
                throw new Error("no room");
              },
              isExhausted: async () => isExhausted,
            },
          }),
        ],
      }));
      const result = outcome(manager.waitFor(podWithVolumes("a", [], ["c"]), never));
      await clock.advance(122_999);
      assert.equal(Object.values(result).some(Boolean), false);
      await clock.advance(1);
      const { code, message } = result.error as KubeletError;
      const why =
        'unmounted volumes=[claim-c], unattached volumes=[claim-c]: MountVolume.WaitForAttach failed for volume "pv-c": no room';
      assert.deepEqual(
        [code, message],
        isExhausted
          ? [
              "VolumeAttachmentLimitExceeded",
              `Node has reached its volume attachment limit, rejecting pod. ${why}`,
            ]
          : ["UnmountedVolumes", why],
      );
    });

  test("are known to be in use only after reconstruction", async () => {
    const host = new FakeVolumeHost(new FakeClock());
    const manager = host.manager();
    assert.equal(manager.inUse(), undefined);
    await manager.start(never);
    assert.deepEqual(manager.inUse(), []);
  });
});

describe("after a restart", () => {
  test("a volume that a plugin knows to be complete is neither verified nor are devices mounted again", async () => {
    const clock = new FakeClock();
    const host = new FakeVolumeHost(clock);
    const complete = (isStillSetUp: boolean) => ({
      plugins: [host.plugin("shared", { isStillSetUp: async () => isStillSetUp })],
    });
    const pod = podWithVolumes("a", [], ["c"]);
    const first = host.manager(complete(false));
    await first.start(never);
    first.register(pod);
    await clock.advance(1_000);
    for (const [isStillSetUp, calls] of [
      [true, ["setUp fake/shared/pv-c"]],
      [false, ["mountDevice fake/shared/pv-c", "setUp fake/shared/pv-c"]],
    ] as const) {
      host.kill();
      host.calls.length = 0;
      const next = host.manager(complete(isStillSetUp));
      await next.start(never);
      next.register(pod);
      await clock.advance(1_000);
      assert.deepEqual(host.calls, calls);
      assert.equal(next.mounted(uid, "claim-c")?.dirName, "pv-c");
    }
    assert.deepEqual(host.violations, []);
  });

  async function restarted(over: Partial<VolumeManagerOptions> = {}) {
    const clock = new FakeClock();
    const host = new FakeVolumeHost(clock);
    const stop = new AbortController();
    const first = host.manager();
    await first.start(stop.signal);
    first.register(podWithVolumes("a", ["x"], ["c"]));
    await clock.advance(50);
    stop.abort();
    host.kill();
    host.calls.length = 0;
    const second = host.manager(over);
    await second.start(never);
    return { clock, host, manager: second };
  }

  test("volumes on disk are left alone until their pod is known to be running or gone", async () => {
    let ready = false;
    const { clock, host, manager } = await restarted({
      initialSync: { isComplete: () => ready },
      nodePods: { phaseOf: () => undefined },
    });
    await clock.advance(600_000);
    assert.deepEqual(host.calls, []);
    assert.deepEqual(manager.inUse(), ["fake/shared/pv-c"]);
    ready = true;
    manager.resync();
    await clock.advance(100);
    assert.equal(host.mounted.size, 0);
    assert.equal(host.devices.size, 0);
  });

  test("the resync finds pods that are gone without a release", async () => {
    const { clock, host } = await restarted({
      initialSync: { isComplete: () => true },
      nodePods: { phaseOf: () => "terminated" },
    });
    await clock.advance(100);
    assert.equal(host.mounted.size, 0);
  });

  test("a terminating pod keeps its volumes", async () => {
    const { clock, host } = await restarted({
      initialSync: { isComplete: () => true },
      nodePods: { phaseOf: () => "terminating" },
    });
    await clock.advance(600_000);
    assert.deepEqual(host.calls, []);
  });

  test("the volumes of a running pod are set up again without being unmounted", async () => {
    const { clock, host, manager } = await restarted({
      initialSync: { isComplete: () => true },
      nodePods: { phaseOf: () => "syncing" },
    });
    await Promise.all([manager.waitFor(podWithVolumes("a", ["x"], ["c"]), never), clock.advance(50)]);
    assert.deepEqual(host.calls.sort(byText), [
      "mountDevice fake/shared/pv-c",
      "setUp fake/own/a-x",
      "setUp fake/shared/pv-c",
    ]);
  });

  test("a release unmounts the volumes of a previous agent", async () => {
    const { clock, host, manager } = await restarted();
    await Promise.all([manager.release(uid, never), clock.advance(100)]);
    assert.equal(host.mounted.size, 0);
    await clock.advance(100);
    assert.equal(host.devices.size, 0);
  });
});

test("while there is nothing to do, only the resync timer is set", async () => {
  const { clock, host, manager } = await started();
  await Promise.all([manager.waitFor(podWithVolumes("a", ["x"]), never), clock.advance(50)]);
  assert.equal(clock.pending, 1);
  const before = host.calls.length;
  await clock.advance(3_600_000);
  assert.equal(host.calls.length, before);
});

// parity: metric /metrics volume_manager_total_volumes, metric /metrics storage_operation_duration_seconds
// parity: metric /metrics volume_operation_total_seconds
test("metrics count volumes and the results of their operations", async () => {
  const metrics = createMetrics();
  const { clock, host, manager } = await started({ metrics });
  host.behavior.set("fake/own/a-x", { failures: 1 });
  manager.register(podWithVolumes("a", ["x", "y"]));
  await clock.advance(20);
  const text = await metrics.registry.metrics();
  for (const line of [
    'volume_manager_total_volumes{plugin_name="fake/own",state="desired_state_of_world"} 2',
    'volume_manager_total_volumes{plugin_name="fake/own",state="actual_state_of_world"} 1',
    'storage_operation_duration_seconds_count{migrated="false",operation_name="volume_mount",status="fail-unknown",volume_plugin="fake/own"} 1',
    'storage_operation_duration_seconds_count{migrated="false",operation_name="volume_mount",status="success",volume_plugin="fake/own"} 1',
    'volume_operation_total_seconds_count{operation_name="overall_volume_mount",plugin_name="fake/own"} 1',
  ])
    assert.ok(text.includes(line), line);
});

describe("storage_operation_duration_seconds counts", () => {
  const blockPod = (name: string): Pod => {
    const pod = podWithVolumes(name, [], ["c"]);
    const volumeDevices = [{ name: "claim-c", devicePath: "/dev/xvda" }];
    return { ...pod, spec: { ...pod.spec, containers: [{ name: "c", volumeDevices }] } };
  };

  test("the verification of a volume once for all of its pods, and its mounts", async () => {
    const metrics = createMetrics();
    const requests: string[] = [];
    let attached = false;
    const { clock, host, manager } = await started((host) => ({
      metrics,
      operations: host.operations({
        verifyAttached: async (unique, _signal, timed) => {
          if (!attached) throw new KubeletError("VolumeAttachment", "not attached");
          await timed(async () => requests.push(unique));
          return "";
        },
      }),
      plugins: [
        host.plugin("own"),
        host.plugin("shared", {
          device: {
            ...host.plugin("shared").device!,
            waitForAttach: async (_pod, _spec, _signal, verified) => void (await verified?.()),
          },
        }),
      ],
    }));
    manager.register(podWithVolumes("a", ["x"], ["c"]));
    await clock.advance(100);
    assert.deepEqual(await counted(metrics), [
      "verify_controller_attached_volume success 1",
      "volume_mount fail-unknown 1",
      "volume_mount success 1",
    ]);
    attached = true;
    await clock.advance(1_000);
    await manager.waitFor(podWithVolumes("a", ["x"], ["c"]), never);
    manager.register(podWithVolumes("b", [], ["c"]));
    await clock.advance(100);
    await manager.waitFor(podWithVolumes("b", [], ["c"]), never);
    assert.ok(requests.length > 1);
    const verified = (await counted(metrics)).filter((line) => line.startsWith("verify"));
    assert.deepEqual(verified, Array(2).fill("verify_controller_attached_volume success 1"), "one per type");
    assert.deepEqual(host.violations, []);
  });

  test("the release of a device after the last pod has unmapped it", async () => {
    const metrics = createMetrics();
    let failures = 1;
    const { clock, manager } = await started((host) => ({
      metrics,
      plugins: [
        host.plugin("shared", {
          block: {
            map: async () => "/dev/sdx",
            unmap: async () => {},
            tearDownDevice: async () => {
              if (failures-- > 0) throw new KubeletError("Volume", "busy");
            },
          },
        }),
      ],
      resolveClaim: async (_pod: Pod, volume: Volume) => {
        const spec = claimSpec(volume);
        return { spec: { ...spec, persistent: { ...spec.persistent!, mode: "Block" as const } } };
      },
    }));
    for (const name of ["a", "b"]) {
      manager.register(blockPod(name));
      await clock.advance(100);
    }
    failures = 0;
    const released = async (name: string) => {
      const wait = manager.release(name as PodUid, never);
      await clock.advance(2_000);
      await wait;
    };
    await released("a");
    assert.deepEqual(await counted(metrics), ["map_volume success 2", "unmap_volume success 1"]);
    failures = 1;
    await released("b");
    assert.deepEqual(await counted(metrics), [
      "map_volume success 2",
      "unmap_device fail-unknown 1",
      "unmap_device success 1",
      "unmap_volume success 3",
    ]);
  });

  test("the expansion of a mounted volume apart from its mounts", async () => {
    const metrics = createMetrics();
    let storage = "1Gi";
    const { clock, manager } = await started((host) => ({
      metrics,
      plugins: [host.plugin("shared", { expandsNow: () => true })],
      resolveClaim: async (_pod: Pod, volume: Volume) => {
        const spec = claimSpec(volume);
        return { spec: { ...spec, persistent: { ...spec.persistent!, spec: { capacity: { storage } } } } };
      },
    }));
    const pod = podWithVolumes("a", [], ["c"]);
    manager.register(pod);
    await clock.advance(10_000);
    storage = "2Gi";
    manager.register(pod);
    await clock.advance(100);
    const counts = await counted(metrics);
    assert.ok(counts.includes("volume_fs_resize success 1"), counts.join());
    assert.ok(counts.includes("volume_mount success 1"), counts.join());
  });
});

test("the volume manager stops on abort, even while a call hangs", async () => {
  const clock = new FakeClock();
  const host = new FakeVolumeHost(clock);
  const manager: VolumeManager = host.manager();
  const stop = new AbortController();
  await manager.start(stop.signal);
  host.behavior.set("fake/own/a-x", { hangs: true });
  manager.register(podWithVolumes("a", ["x"]));
  await clock.advance(100);
  stop.abort();
  await clock.advance(2_000);
  await manager.done;
});

test("groups of PersistentVolumes are added to those of the pod", async () => {
  const { clock, manager } = await started({
    resolveClaim: async (_pod, volume) => ({
      spec: claimSpec(volume),
      gid: volume.persistentVolumeClaim?.claimName,
    }),
  });
  const pod = podWithVolumes("a", [], ["1000", "2000", "no-number"]);
  pod.spec.securityContext = { supplementalGroups: [2000] };
  await Promise.all([manager.waitFor(pod, never), clock.advance(50)]);
  assert.deepEqual(manager.extraGroups(pod), [1000]);
});
