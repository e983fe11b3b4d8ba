import assert from "node:assert/strict";
import { test } from "node:test";
import { anObservedPod } from "../../../../test/builders/pods.ts";
import { FakeClock } from "../../../lib/base/fake-clock.ts";
import { silentLogger } from "../../../lib/base/logger.ts";
import { fakePod } from "../../../lib/model/fake-pod.ts";
import {
  annotationHash,
  annotationMirror,
  annotationSource,
  type Pod,
  type PodStatus,
} from "../../../lib/model/pod.ts";
import type { WorkerPhase } from "../../state/pod-sync-status.ts";
import { ApiStatuses } from "./api-statuses.ts";
import { FakePodApi } from "./fake-pod-api.ts";

const running: PodStatus = { phase: "Running" };
const patch = "PATCH /api/v1/namespaces/default/pods/web/status";
const remove = "DELETE /api/v1/namespaces/default/pods/web";

async function setUp(t: { after(fn: () => void): void }, own: Pod) {
  const clock = new FakeClock();
  const api = new FakePodApi();
  const node = {
    worker: { pod: own, phase: "syncing" as WorkerPhase } as { pod: Pod; phase: WorkerPhase } | undefined,
    status: undefined as PodStatus | undefined,
    watched: undefined as Pod | undefined,
    hasMirrorTimes: true,
    isRestarted: false,
    isInRuntime: true,
  };
  const statuses = new ApiStatuses({
    api,
    clock,
    logger: silentLogger,
    workers: { get: () => node.worker },
    statuses: { get: () => node.status, hasMirrorTimes: () => node.hasMirrorTimes },
    apiPods: {
      get: () => node.watched,
      statusOf: () => (node.isRestarted ? undefined : node.watched?.status),
    },
    observed: { get: () => (node.isInRuntime ? anObservedPod([]) : undefined) },
  });
  const stop = new AbortController();
  await statuses.component.start(stop.signal);
  t.after(() => stop.abort());
  const { uid } = own.metadata;
  const sync = async () => {
    statuses.sync(uid);
    await clock.advance(0);
  };
  return { clock, api, node, statuses, uid, sync };
}

test("the API gets the current status, once", async (t) => {
  const pod = fakePod({ status: { phase: "Pending" } });
  const { api, node, sync, statuses, uid } = await setUp(t, pod);
  node.watched = api.put(pod);
  await sync();
  assert.deepEqual(api.requests, [], "there is no status yet");
  node.status = running;
  await sync();
  await sync();
  assert.deepEqual(api.requests, [patch]);
  assert.ok(statuses.isWritten(uid));
});

test("a pod is deleted in the API only when its worker is terminated and its resources are reclaimed", async (t) => {
  const pod = fakePod({ status: { phase: "Succeeded" } });
  pod.metadata.deletionTimestamp = "2026-01-01T00:00:00Z";
  const { api, node, sync, statuses, uid } = await setUp(t, pod);
  node.watched = api.put(pod);
  node.status = { phase: "Succeeded" };
  statuses.resourcesReclaimed(uid);
  statuses.phaseChanged(uid, "terminating");
  node.worker = { pod, phase: "terminated" };
  await sync();
  assert.ok(!api.requests.includes(remove), "a release before the pod started again does not count");
  statuses.resourcesReclaimed(uid);
  await sync();
  assert.ok(api.requests.includes(remove));
});

test("a pod that terminated before it was in the runtime keeps the status of the API", async (t) => {
  const pod = fakePod({ status: { phase: "Failed", reason: "Evicted" } });
  const { api, node, sync } = await setUp(t, pod);
  node.watched = api.put(pod);
  node.isInRuntime = false;
  node.status = { phase: "Failed", reason: "Other" };
  await sync();
  assert.deepEqual(api.requests, []);
  node.isInRuntime = true;
  await sync();
  assert.deepEqual(api.requests, [patch]);
});

function withMirror() {
  const own = fakePod();
  own.metadata.annotations = { [annotationSource]: "file", [annotationHash]: "h" };
  const mirror = fakePod({ status: { phase: "Pending" } });
  mirror.metadata.annotations = { [annotationMirror]: "h" };
  return { own, mirror };
}

test("a static pod's status is not written before it has the times of its mirror", async (t) => {
  const { own, mirror } = withMirror();
  const { api, node, sync, clock } = await setUp(t, own);
  node.watched = api.put(mirror);
  node.hasMirrorTimes = false;
  node.status = running;
  await sync();
  assert.deepEqual(api.requests, []);
  node.hasMirrorTimes = true;
  await clock.advance(10_000);
  assert.deepEqual(api.requests, [patch], "at the next reconciliation at the latest");
});

test("a static pod that starts again does not wait for the times of its previous run", async (t) => {
  const { own, mirror } = withMirror();
  const { api, node, sync } = await setUp(t, own);
  Object.assign(node, {
    watched: api.put(mirror),
    hasMirrorTimes: false,
    isRestarted: true,
    status: running,
  });
  await sync();
  assert.deepEqual(api.requests, [patch]);
});

test("a pod of the API is written regardless of mirrors", async (t) => {
  const pod = fakePod({ status: { phase: "Pending" } });
  const { api, node, sync } = await setUp(t, pod);
  Object.assign(node, { watched: api.put(pod), hasMirrorTimes: false, status: running });
  await sync();
  assert.deepEqual(api.requests, [patch]);
});
