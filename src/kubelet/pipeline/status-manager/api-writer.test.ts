import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "../../../lib/base/fake-clock.ts";
import { metricValues } from "../../../lib/base/fixtures.ts";
import { type Logger, silentLogger } from "../../../lib/base/logger.ts";
import { createMetrics } from "../../../lib/base/metrics.ts";
import { fakePod } from "../../../lib/model/fake-pod.ts";
import {
  annotationMirror,
  annotationSource,
  isStatic,
  type Pod,
  type PodStatus,
  type PodUid,
} from "../../../lib/model/pod.ts";
import { ApiStatusWriter } from "./api-writer.ts";
import { createApiWriterMetrics } from "./api-writer-metrics.ts";
import { FakeApiError, FakePodApi } from "./fake-pod-api.ts";

const running: PodStatus = { phase: "Running", conditions: [{ type: "Ready", status: "True" }] };
const failed: PodStatus = { phase: "Failed", conditions: [{ type: "Ready", status: "False" }] };

async function setUp(t: { after(fn: () => void): void }) {
  const clock = new FakeClock();
  const api = new FakePodApi();
  const stop = new AbortController();
  const metrics = createMetrics();
  /** The pods of the watch. */
  const watched = new Map<string, Pod>();
  const couldHaveRunningContainers = new Set<PodUid>();
  const reclaimed = new Set<PodUid>();
  const logs: string[] = [];
  const logger: Logger = { ...silentLogger, error: (message) => logs.push(message) };
  const writer = new ApiStatusWriter({
    api,
    clock,
    logger,
    apiPod: (pod) => watched.get(isStatic(pod) ? "mirror" : pod.metadata.uid),
    couldHaveRunningContainers: (uid) => couldHaveRunningContainers.has(uid),
    resourcesReclaimed: (uid) => reclaimed.has(uid),
    metrics: createApiWriterMetrics(metrics),
    random: () => 0,
  });
  const watch = (pod: Pod, as: string = pod.metadata.uid) => watched.set(as, structuredClone(pod));
  await writer.start(stop.signal);
  t.after(() => stop.abort());
  return { clock, api, writer, watched, watch, couldHaveRunningContainers, reclaimed, stop, metrics, logs };
}

// parity: metric /metrics kubelet_pod_status_sync_duration_seconds
test("a status is written with one request when the watch has the pod", async (t) => {
  const { clock, api, writer, watch, metrics } = await setUp(t);
  const pod = api.put(fakePod({ status: { phase: "Pending" } }));
  watch(pod);
  writer.set(pod, running);
  assert.equal(writer.isWritten(pod.metadata.uid), false);
  await clock.advance(0);
  assert.deepEqual(api.requests, ["PATCH /api/v1/namespaces/default/pods/web/status"]);
  assert.deepEqual(api.status(pod), running);
  assert.equal(writer.isWritten(pod.metadata.uid), true);
  assert.deepEqual(await metricValues(metrics, "kubelet_pod_status_sync_duration_seconds"), { count: 1 });
});

test("the same status is not written again, and the next one is a patch of the last response", async (t) => {
  const { clock, api, writer, watch } = await setUp(t);
  const pod = api.put(fakePod({ status: { phase: "Pending" } }));
  watch(pod);
  writer.set(pod, running);
  await clock.advance(0);
  writer.set(pod, structuredClone(running));
  await clock.advance(30_000);
  assert.equal(api.requests.length, 1);
  writer.set(pod, { ...running, podIP: "10.1.0.1" });
  await clock.advance(0);
  assert.deepEqual(api.patches[1]?.status, { podIP: "10.1.0.1" });
  assert.equal(api.requests.length, 2);
});

test("during a write the newest status waits, and those in between are skipped", async (t) => {
  const { clock, api, writer, watch } = await setUp(t);
  const pod = api.put(fakePod({ status: { phase: "Pending" } }));
  watch(pod);
  for (const message of ["1", "2", "3"]) writer.set(pod, { ...running, message });
  await clock.advance(0);
  assert.deepEqual(
    api.patches.map((p) => p.status.message),
    ["1", "3"],
  );
});

const sandboxIs = (status: "True" | "False") => ({ type: "PodReadyToStartContainers", status });

test("a ready sandbox is written together with the containers that start soon after", async (t) => {
  const { clock, api, writer, watch } = await setUp(t);
  const pending: PodStatus = { phase: "Pending", conditions: [sandboxIs("False")] };
  const pod = api.put(fakePod({ status: pending }));
  watch(pod);
  const withSandbox = { podIP: "10.1.0.1", podIPs: [{ ip: "10.1.0.1" }], conditions: [sandboxIs("True")] };
  writer.set(pod, { ...pending, ...withSandbox });
  await clock.advance(499);
  assert.deepEqual(api.requests, []);
  writer.set(pod, { ...running, ...withSandbox });
  await clock.advance(0);
  assert.equal(api.requests.length, 1);
  assert.deepEqual(api.status(pod), { ...running, ...withSandbox });
  await clock.advance(1000);
  assert.equal(api.requests.length, 1);
});

for (const [state, before, after] of [
  ["ready", "False", "True"],
  ["stopped", "True", "False"],
] as const)
  test(`a ${state} sandbox whose containers do not change is written after 500 ms, once`, async (t) => {
    const { clock, api, writer, watch } = await setUp(t);
    const pending: PodStatus = { phase: "Pending", conditions: [sandboxIs(before)] };
    const pod = api.put(fakePod({ status: pending }));
    watch(pod);
    const changed: PodStatus = { ...pending, conditions: [sandboxIs(after)] };
    writer.set(pod, changed);
    await clock.advance(300);
    writer.wake(pod.metadata.uid);
    await clock.advance(199);
    assert.deepEqual(api.requests, []);
    await clock.advance(1);
    assert.deepEqual(api.status(pod), changed);
    assert.equal(api.requests.length, 1);
    await clock.advance(5000);
    assert.equal(api.requests.length, 1);
  });

const waitingFor = (reason: string): PodStatus => ({
  phase: "Pending",
  conditions: [sandboxIs("False"), { type: "Ready", status: "False" }],
  containerStatuses: [
    ...[{ name: "c", state: { waiting: { reason } }, lastState: {}, ready: false, restartCount: 0 }],
  ] as NonNullable<PodStatus["containerStatuses"]>,
});

test("a pod that starts within 500 ms needs one request", async (t) => {
  const { clock, api, writer, watch } = await setUp(t);
  const pod = api.put(fakePod({ status: { phase: "Pending" } }));
  watch(pod);
  writer.set(pod, waitingFor("ContainerCreating"));
  await clock.advance(499);
  assert.deepEqual(api.requests, []);
  writer.set(pod, running);
  await clock.advance(0);
  assert.deepEqual(api.status(pod), running);
  await clock.advance(30_000);
  assert.equal(api.requests.length, 1);
});

test("a pod whose start takes longer is reported as waiting after 500 ms", async (t) => {
  const { clock, api, writer, watch } = await setUp(t);
  const pod = api.put(fakePod({ status: { phase: "Pending" } }));
  watch(pod);
  writer.set(pod, waitingFor("ContainerCreating"));
  await clock.advance(500);
  assert.deepEqual(api.status(pod), waitingFor("ContainerCreating"));
});

test("a status that waits for the next one is written immediately if it is flushed", async (t) => {
  const { clock, api, writer, watch } = await setUp(t);
  const pod = api.put(fakePod({ status: { phase: "Pending" } }));
  watch(pod);
  writer.set(pod, waitingFor("ContainerCreating"));
  await clock.advance(10);
  assert.deepEqual(api.requests, []);
  await writer.flush(pod.metadata.uid);
  assert.deepEqual(api.status(pod), waitingFor("ContainerCreating"));
  await writer.flush(pod.metadata.uid);
  assert.equal(api.requests.length, 1);
});

test("a flush waits a second for an API server that does not respond, and for no pod that is unknown", async (t) => {
  const { clock, api, writer, watch } = await setUp(t);
  await writer.flush("unknown" as PodUid);
  const pod = api.put(fakePod({ status: { phase: "Pending" } }));
  watch(pod);
  api.fault = () => "not-received";
  writer.set(pod, waitingFor("ContainerCreating"));
  let isFlushed = false;
  void writer.flush(pod.metadata.uid).then(() => {
    isFlushed = true;
  });
  await clock.advance(999);
  assert.equal(isFlushed, false);
  await clock.advance(1);
  assert.equal(isFlushed, true);
});

test("a pod that fails to start is reported immediately", async (t) => {
  const { clock, api, writer, watch } = await setUp(t);
  const pod = api.put(fakePod({ status: { phase: "Pending" } }));
  watch(pod);
  writer.set(pod, waitingFor("ContainerCreating"));
  await clock.advance(100);
  writer.set(pod, waitingFor("ErrImagePull"));
  await clock.advance(0);
  assert.deepEqual(api.status(pod), waitingFor("ErrImagePull"));
  assert.equal(api.requests.length, 1);
});

test("a sandbox that stops soon after the pod was started is reported after 500 ms", async (t) => {
  const { clock, api, writer, watch } = await setUp(t);
  const ofSandbox = (status: "True" | "False") => ({ ...running, conditions: [sandboxIs(status)] });
  const pod = api.put(fakePod({ status: { phase: "Pending", conditions: [sandboxIs("False")] } }));
  watch(pod);
  writer.set(pod, { phase: "Pending", conditions: [sandboxIs("True")] });
  await clock.advance(100);
  writer.set(pod, ofSandbox("True"));
  await clock.advance(100);
  writer.set(pod, ofSandbox("False"));
  await clock.advance(500);
  assert.deepEqual(api.status(pod), ofSandbox("False"));
});

test("a status that waits for the next one is dropped with its pod, and leaves no timer", async (t) => {
  const { clock, api, writer, watch, stop } = await setUp(t);
  for (const end of [(uid: PodUid) => writer.forget(uid), () => stop.abort()]) {
    const pending: PodStatus = { phase: "Pending", conditions: [sandboxIs("False")] };
    const pod = api.put(fakePod({ status: pending }));
    watch(pod);
    writer.set(pod, { ...pending, conditions: [sandboxIs("True")] });
    await clock.advance(100);
    end(pod.metadata.uid);
    await clock.advance(1000);
    assert.deepEqual(api.requests, []);
  }
  assert.equal(clock.pending, 0);
});

test("another pod of the same name is not written to", async (t) => {
  const { clock, api, writer, watch } = await setUp(t);
  const pod = fakePod({ status: { phase: "Pending" } });
  watch({ ...pod, metadata: { ...pod.metadata, resourceVersion: "1" } });
  api.put(fakePod({ metadata: { uid: "another" as PodUid }, status: { phase: "Pending" } }));
  writer.set(pod, running);
  await clock.advance(0);
  assert.equal(api.patches.length, 0);
  assert.deepEqual(api.requests, [
    "PATCH /api/v1/namespaces/default/pods/web/status",
    "GET /api/v1/namespaces/default/pods/web",
  ]);
});

test("a pod that is not in the watch is neither written nor read: the node may not", async (t) => {
  const { clock, api, writer, watch, watched } = await setUp(t);
  const pod = api.put(fakePod({ status: { phase: "Pending" } }));
  writer.set(pod, running);
  await clock.advance(30_000);
  assert.deepEqual(api.requests, []);
  watch(pod);
  writer.wake(pod.metadata.uid);
  await clock.advance(0);
  assert.equal(api.requests.length, 1);
  watched.clear();
  writer.set(pod, failed);
  await clock.advance(30_000);
  assert.equal(api.requests.length, 1);
});

test("changes of other clients are read before the next write", async (t) => {
  const { clock, api, writer, watch } = await setUp(t);
  const pod = api.put(fakePod({ status: { phase: "Pending" } }));
  watch(pod);
  api.change(pod, (p) => {
    p.status = { phase: "Failed", reason: "NodeLost" };
  });
  writer.set(pod, running);
  await clock.advance(0);
  assert.equal(api.status(pod)?.phase, "Failed");
  assert.equal(api.status(pod)?.reason, "NodeLost");
});

test("a status that another client changed is written again within 10 s", async (t) => {
  const { clock, api, writer, watch } = await setUp(t);
  const pod = api.put(fakePod({ status: { phase: "Pending" } }));
  watch(pod);
  writer.set(pod, running);
  await clock.advance(0);
  api.change(pod, (p) => {
    p.status = { phase: "Running", conditions: [{ type: "Ready", status: "False" }] };
  });
  watch(api.pods.get("default/pods/web") ?? pod);
  await clock.advance(10_000);
  assert.equal(api.status(pod)?.conditions?.[0]?.status, "True");
});

test("a field that the API server ignores is not sent again", async (t) => {
  const { clock, api, writer, watch } = await setUp(t);
  const pod = api.put(fakePod({ status: { phase: "Pending" } }));
  watch(pod);
  api.unknownFields = ["observedGeneration"];
  writer.set(pod, { ...running, observedGeneration: 4 });
  await clock.advance(60_000);
  assert.equal(api.requests.length, 1);
  writer.set(pod, { ...running, observedGeneration: 4, podIP: "10.1.0.1" });
  await clock.advance(60_000);
  assert.equal(api.requests.length, 2);
});

test("an API server that changes each status is written to once every 10 s", async (t) => {
  const { clock, api, writer, watch } = await setUp(t);
  const pod = api.put(fakePod({ status: { phase: "Pending" } }));
  watch(pod);
  let changes = 0;
  api.onWrite = (_before, after) => {
    after.status = { ...after.status, message: `${++changes}` };
  };
  writer.set(pod, running);
  await clock.advance(0);
  assert.equal(api.patches.length, 1);
  api.change(pod, (p) => {
    p.status = { ...p.status, reason: "OtherClient" };
  });
  watch(api.pods.get("default/pods/web") ?? pod);
  await clock.advance(10_000);
  assert.equal(api.patches.length, 2);
});

test("after an outage of 60 s all statuses are written within 4 s", async (t) => {
  const { clock, api, writer, watch } = await setUp(t);
  api.fault = () => "not-received";
  const pods = Array.from({ length: 20 }, (_, i) =>
    api.put(fakePod({ metadata: { name: `p${i}`, uid: `u${i}` as PodUid }, status: { phase: "Pending" } })),
  );
  for (const pod of pods) {
    watch(pod);
    writer.set(pod, running);
  }
  await clock.advance(60_000);
  assert.ok(api.requests.length < 20 * 60, `${api.requests.length} requests during the outage`);
  api.fault = () => undefined;
  await clock.advance(4000);
  for (const pod of pods) assert.equal(api.status(pod)?.phase, "Running", pod.metadata.name);
});

test("a failing API server is logged once until it works again", async (t) => {
  const { clock, api, writer, watch, logs } = await setUp(t);
  const pod = api.put(fakePod({ status: { phase: "Pending" } }));
  watch(pod);
  api.fault = () => 500;
  writer.set(pod, running);
  await clock.advance(60_000);
  assert.deepEqual(logs, ["Failed to update status for pod, will retry"]);
  api.fault = () => undefined;
  await clock.advance(60_000);
  assert.ok(writer.isWritten(pod.metadata.uid));
  assert.equal(logs.length, 1);
});

test("Retry-After is respected", async (t) => {
  const { clock, api, writer, watch } = await setUp(t);
  const pod = api.put(fakePod({ status: { phase: "Pending" } }));
  watch(pod);
  const request = api.request;
  let calls = 0;
  api.request = async (call) => {
    if (calls++ === 0) throw new FakeApiError(429, 7000);
    return request(call);
  };
  writer.set(pod, running);
  await clock.advance(6900);
  assert.equal(calls, 1);
  await clock.advance(200);
  assert.equal(api.status(pod)?.phase, "Running");
});

test("a rejected status is sent again every 10 s, not immediately", async (t) => {
  const { clock, api, writer, watch } = await setUp(t);
  const pod = api.put(fakePod({ status: { phase: "Pending" } }));
  watch(pod);
  api.fault = () => 422;
  writer.set(pod, running);
  await clock.advance(9000);
  assert.equal(api.requests.length, 1);
  api.fault = () => undefined;
  await clock.advance(1000);
  assert.equal(api.status(pod)?.phase, "Running");
});

test("a pod is deleted only when it has a deletion timestamp, is terminal in the API, and its resources are reclaimed", async (t) => {
  const { clock, api, writer, watch, couldHaveRunningContainers, reclaimed } = await setUp(t);
  const deleted: (number | undefined)[] = [];
  api.onDelete = (_pod, { gracePeriodSeconds }) => deleted.push(gracePeriodSeconds);
  const pod = api.put(
    fakePod({ metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" }, status: { phase: "Running" } }),
  );
  const { uid } = pod.metadata;
  watch(pod);
  couldHaveRunningContainers.add(uid);
  writer.set(pod, failed);
  await clock.advance(20_000);
  assert.equal(api.status(pod)?.phase, "Running", "containers could still run");
  couldHaveRunningContainers.delete(uid);
  writer.wake(uid);
  await clock.advance(0);
  assert.equal(api.status(pod)?.phase, "Failed");
  await clock.advance(20_000);
  assert.deepEqual(deleted, [], "volumes still exist");
  reclaimed.add(uid);
  writer.wake(uid);
  await clock.advance(0);
  assert.deepEqual(deleted, [0]);
  const { length } = api.requests;
  await clock.advance(60_000);
  assert.equal(api.requests.length, length, "nothing is left to do");
});

test("a terminated pod without a deletion timestamp is not deleted", async (t) => {
  const { clock, api, writer, watch, reclaimed } = await setUp(t);
  const pod = api.put(fakePod({ status: { phase: "Running" } }));
  watch(pod);
  reclaimed.add(pod.metadata.uid);
  writer.set(pod, failed);
  await clock.advance(20_000);
  assert.equal(api.status(pod)?.phase, "Failed");
});

test("a deletion whose response was lost is not repeated for the next pod of the same name", async (t) => {
  const { clock, api, writer, watch, reclaimed } = await setUp(t);
  const pod = api.put(
    fakePod({ metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" }, status: { phase: "Failed" } }),
  );
  watch(pod);
  reclaimed.add(pod.metadata.uid);
  api.fault = (call) => (call.method === "DELETE" ? "response-lost" : undefined);
  writer.set(pod, failed);
  await clock.advance(0);
  assert.equal(api.pods.size, 0);
  api.fault = () => undefined;
  api.put(fakePod({ metadata: { uid: "next" as PodUid }, status: { phase: "Pending" } }));
  await clock.advance(60_000);
  assert.equal(api.status(pod)?.phase, "Pending");
});

test("the status of a static pod is written to each mirror, and the mirror is not deleted", async (t) => {
  const { clock, api, writer, watched, watch, reclaimed } = await setUp(t);
  const pod = fakePod({ metadata: { annotations: { [annotationSource]: "file" } } });
  const mirror = (uid: string) =>
    api.put(
      fakePod({
        metadata: {
          uid: uid as PodUid,
          annotations: { [annotationSource]: "file", [annotationMirror]: "h" },
          deletionTimestamp: "2026-01-01T00:00:00Z",
        },
        status: { phase: "Pending" },
      }),
    );
  reclaimed.add(pod.metadata.uid);
  writer.set(pod, failed);
  await clock.advance(20_000);
  assert.deepEqual(api.requests, [], "there is no mirror yet");
  watch(mirror("m1"), "mirror");
  writer.wake(pod.metadata.uid);
  await clock.advance(0);
  assert.deepEqual(api.patches[0]?.metadata.uid, "m1");
  watched.delete("mirror");
  watch(mirror("m2"), "mirror");
  await clock.advance(20_000);
  assert.deepEqual(
    api.patches.map((p) => p.metadata.uid),
    ["m1", "m2"],
  );
  assert.equal(api.pods.size, 1);
});

test("a dropped pod is no longer written, and an abort stops all workers", async (t) => {
  const { clock, api, writer, watch, stop } = await setUp(t);
  const [a, b] = ["a", "b"].map((name) => {
    const pod = api.put(fakePod({ metadata: { name, uid: name as PodUid }, status: { phase: "Pending" } }));
    watch(pod);
    return pod;
  }) as [Pod, Pod];
  api.fault = () => "not-received";
  writer.set(a, running);
  writer.set(b, running);
  await clock.advance(1000);
  writer.forget(a.metadata.uid);
  api.fault = () => undefined;
  await clock.advance(10_000);
  assert.deepEqual([api.status(a)?.phase, api.status(b)?.phase], ["Pending", "Running"]);
  api.fault = () => "not-received";
  writer.set(b, failed);
  await clock.advance(0);
  stop.abort();
  await writer.done;
  assert.equal(clock.pending, 0);
});
