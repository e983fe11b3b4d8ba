import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { aContainer, aPod, testUid } from "../../../../test/builders/pods.ts";
import { sleep } from "../../../lib/base/clock.ts";
import { FakeClock, settle } from "../../../lib/base/fake-clock.ts";
import { metricValues } from "../../../lib/base/fixtures.ts";
import { silentLogger } from "../../../lib/base/logger.ts";
import { createMetrics } from "../../../lib/base/metrics.ts";
import { epochMs } from "../../../lib/base/time.ts";
import { annotationSeen, annotationSource, type PodId, type PodUid } from "../../../lib/model/pod.ts";
import { WorkerStates } from "../../state/worker-states.ts";
import type { PodSyncer } from "./pod-syncer.ts";
import { PodWorkers } from "./pod-workers.ts";
import { createWorkerMetrics } from "./worker-metrics.ts";

/** Workers whose every call takes a second. */
function setUp(syncer: Partial<PodSyncer> = {}, running: readonly string[] = []) {
  const clock = new FakeClock();
  const metrics = createMetrics();
  const takesTime = () => sleep(clock, 1000);
  const workers = new PodWorkers({
    states: new WorkerStates(),
    syncer: {
      sync: async () => {
        await takesTime();
        return {};
      },
      stop: takesTime,
      release: takesTime,
      remove: async () => {},
      isTerminal: () => false,
      ...syncer,
    },
    clock,
    logger: silentLogger,
    syncEveryMs: () => 60_000,
    previousVersions: () => [],
    onChange: () => {},
    onGone: () => {},
    metrics: createWorkerMetrics({ metrics, isRunning: (uid) => running.includes(uid) }),
  });
  workers.release();
  const values = (name: string) => metricValues(metrics, `kubelet_${name}`);
  const syncs = async () => {
    const found = await values("pod_worker_duration_seconds");
    return Object.fromEntries(
      Object.entries(found).map(([key, value]) => [key.replace("operation_type=", ""), value]),
    );
  };
  return { clock, workers, values, syncs };
}

const podOf = (uid: string, name = uid, source = "file") =>
  aPod({}, { uid: uid as PodUid, name, annotations: { [annotationSource]: source } });

describe("syncs", () => {
  // parity: metric /metrics kubelet_pod_worker_duration_seconds
  it("are measured by kind", async () => {
    const { clock, workers, syncs } = setUp();
    const pod = aPod();
    workers.update(pod);
    await clock.advance(1000);
    assert.deepEqual(await syncs(), { "create,count": 1, "create,sum": 1 });
    workers.update(pod);
    await clock.advance(1000);
    workers.wake(testUid);
    await clock.advance(1000);
    workers.terminate(testUid, { removed: true });
    await clock.advance(2000);
    const once = (kind: string) => ({ [`${kind},count`]: 1, [`${kind},sum`]: 1 });
    assert.deepEqual(await syncs(), {
      ...once("create"),
      ...once("update"),
      ...once("sync"),
      ...once("kill"),
      ...once("terminated"),
    });
  });

  it("are measured from when they were first requested", async () => {
    const { clock, workers, syncs } = setUp();
    workers.update(aPod());
    await clock.advance(400);
    workers.wake(testUid);
    await clock.advance(300);
    workers.wake(testUid);
    await clock.advance(1300);
    assert.deepEqual(await syncs(), {
      "create,count": 1,
      "create,sum": 1,
      "sync,count": 1,
      "sync,sum": 1.6,
    });
  });

  it("are also measured if they fail", async () => {
    const { clock, workers, syncs } = setUp({ sync: () => Promise.reject(new Error("broken")) });
    workers.update(aPod());
    await clock.advance(500);
    assert.deepEqual(await syncs(), { "create,count": 1, "sync,count": 1 });
  });

  it("count once, including the wait, for a pod that waits for another", async () => {
    const { clock, workers, syncs } = setUp();
    workers.update(podOf("u1", "p"));
    await clock.advance(1000);
    workers.update(podOf("u2", "p"));
    await settle();
    assert.deepEqual(await syncs(), { "create,count": 1, "create,sum": 1 });
    workers.terminate("u1" as PodUid, { removed: true });
    await clock.advance(3000);
    assert.deepEqual(await syncs(), {
      "create,count": 2,
      "create,sum": 3,
      "kill,count": 1,
      "kill,sum": 1,
      "terminated,count": 1,
      "terminated,sum": 1,
    });
  });

  it("are not measured after the resources of the pod were reclaimed", async () => {
    const { clock, workers, syncs } = setUp();
    workers.update(aPod());
    await clock.advance(1000);
    workers.terminate(testUid, { removed: false });
    await clock.advance(2000);
    const before = await syncs();
    assert.equal(before["terminated,count"], 1);
    workers.wake(testUid);
    await clock.advance(2000);
    assert.deepEqual(await syncs(), before);
  });
});

describe("pods that start", () => {
  const seenAt = (ms: number) => ({ annotations: { [annotationSeen]: new Date(ms).toISOString() } });
  const spec = { containers: [aContainer("a"), aContainer("b")], initContainers: [aContainer("i")] };

  // parity: metric /metrics kubelet_pod_worker_start_duration_seconds
  // parity: metric /metrics kubelet_containers_per_pod_count
  it("are measured from when they were first seen, and by their regular containers, once", async () => {
    const { clock, workers, values } = setUp();
    workers.update(aPod(spec, seenAt(epochMs(clock.wall()) - 250)));
    await clock.advance(1000);
    workers.wake(testUid);
    await clock.advance(1000);
    assert.deepEqual(await values("pod_worker_start_duration_seconds"), { count: 1, sum: 0.25 });
    assert.deepEqual(await values("containers_per_pod_count"), { count: 1, sum: 2 });
  });

  it("are not measured without the time when they were first seen", async () => {
    const { clock, workers, values } = setUp();
    workers.update(aPod());
    await clock.advance(1000);
    assert.deepEqual(await values("pod_worker_start_duration_seconds"), {});
  });

  const rejections: [reason: string, counted: string][] = [
    ["OutOfcpu", "OutOfcpu"],
    ["OutOfephemeral-storage", "OutOfephemeral-storage"],
    ["OutOfexample.com/gpu", "OutOfExtendedResources"],
    ["SysctlForbidden", "SysctlForbidden"],
    ["NodeAffinity", "Other"],
  ];
  for (const [reason, counted] of rejections)
    it(`are not counted if they are rejected: ${reason} is counted as ${counted}`, async () => {
      const { clock, workers, values } = setUp({
        admit: () => ({ kind: "rejected", failure: { phase: "Failed", reason, message: "" } }),
      });
      workers.update(aPod());
      await clock.advance(5000);
      assert.deepEqual(await values("admission_rejections_total"), { [`reason=${counted}`]: 1 });
      assert.deepEqual(await values("containers_per_pod_count"), {});
    });
});

// parity: metric /metrics kubelet_restarted_pods_total
for (const [source, label] of [
  ["file", "true"],
  ["api", ""],
] as const)
  it(`a pod of source ${source} that is added again with the same UID is counted as restarted`, async () => {
    const { clock, workers, values } = setUp();
    workers.update(podOf("u", "p", source));
    await clock.advance(1000);
    workers.terminate("u" as PodUid, { removed: true });
    workers.update(podOf("u", "p", source));
    assert.deepEqual(await values("restarted_pods_total"), {}, "not before it has terminated");
    await clock.advance(3000);
    assert.deepEqual(await values("restarted_pods_total"), { [`static=${label}`]: 1 });
  });

// parity: metric /metrics kubelet_orphaned_runtime_pods_total
it("a running pod without a worker is counted as orphaned; dead and known pods are not", async () => {
  const { clock, workers, values } = setUp({}, ["u1", "known"]);
  const id = (uid: string): PodId => ({ uid: uid as PodUid, name: uid, namespace: "default" });
  workers.update(podOf("known"));
  for (const uid of ["u1", "u1", "dead", "known"]) workers.terminateOrphan(id(uid));
  await clock.advance(0);
  assert.deepEqual(await values("orphaned_runtime_pods_total"), { "": 1 });
});
