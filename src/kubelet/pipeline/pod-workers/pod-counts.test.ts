import assert from "node:assert/strict";
import { it } from "node:test";
import { aContainer, aPod } from "../../../../test/builders/pods.ts";
import { metricValues } from "../../../lib/base/fixtures.ts";
import { createMetrics } from "../../../lib/base/metrics.ts";
import { annotationSource, type Pod, type PodUid } from "../../../lib/model/pod.ts";
import type { WorkerPhase } from "../../state/pod-sync-status.ts";
import { type CountedPods, createPodCounts } from "./pod-counts.ts";

const pod = (uid: string, source = "file", ephemeral = 0): Pod =>
  aPod(
    { ephemeralContainers: Array.from({ length: ephemeral }, (_, i) => aContainer(`d${i}`) as never) },
    { uid: uid as PodUid, annotations: { [annotationSource]: source } },
  );
const worker = (uid: string, phase: WorkerPhase, of?: Pod) => ({
  id: { uid: uid as PodUid },
  phase,
  pod: of,
  rejected: false,
});

function counts(pods: {
  desired?: () => Pod[];
  active?: CountedPods["active"];
  mirrors?: () => Pod[];
  workers?: CountedPods["workers"]["all"];
}) {
  const metrics = createMetrics();
  createPodCounts(metrics, {
    desired: { all: pods.desired ?? (() => []), mirrors: pods.mirrors ?? (() => []) },
    active: pods.active ?? (() => []),
    workers: { all: pods.workers ?? (() => []) },
  });
  return (name: string) => metricValues(metrics, `kubelet_${name}`);
}

// parity: metric /metrics kubelet_desired_pods, metric /metrics kubelet_active_pods
// parity: metric /metrics kubelet_mirror_pods
it("desired and active pods are counted by whether they are static; pods from http are static too", async () => {
  const pods = [pod("1"), pod("2", "http"), pod("3", "api")];
  const values = counts({
    desired: () => pods,
    active: () => pods.slice(1),
    mirrors: () => [pod("m", "api")],
  });
  assert.deepEqual(await values("desired_pods"), { "static=true": 2, "static=": 1 });
  assert.deepEqual(await values("active_pods"), { "static=true": 1, "static=": 1 });
  assert.deepEqual(await values("mirror_pods"), { "": 1 });
});

// parity: metric /metrics kubelet_managed_ephemeral_containers
it("ephemeral containers of desired pods are counted", async () => {
  const pods = [pod("1", "api", 2), pod("2", "api", 1), pod("3")];
  const values = counts({ desired: () => pods });
  assert.deepEqual(await values("managed_ephemeral_containers"), { "": 3 });
  pods.shift();
  assert.deepEqual(await values("managed_ephemeral_containers"), { "": 1 });
});

// parity: metric /metrics kubelet_working_pods
it("pods with a worker are counted by lifecycle, by whether they are desired and by whether they are static", async () => {
  const desired = [pod("1"), pod("2", "api"), pod("3", "api")];
  let workers = [
    worker("1", "syncing", desired[0]),
    worker("2", "syncing", desired[1]),
    worker("3", "terminated", desired[2]),
    worker("4", "terminating", pod("4")),
    worker("5", "terminating", pod("5", "api")),
    worker("6", "terminating"),
    worker("7", "terminating"),
    { ...worker("8", "terminated", pod("8", "api")), rejected: true },
  ];
  const values = counts({ desired: () => desired, workers: () => workers });
  assert.deepEqual(await values("working_pods"), {
    "lifecycle=sync,config=desired,static=true": 1,
    "lifecycle=sync,config=desired,static=": 1,
    "lifecycle=terminated,config=desired,static=": 1,
    "lifecycle=terminating,config=orphan,static=true": 1,
    "lifecycle=terminating,config=orphan,static=": 1,
    "lifecycle=terminating,config=runtime_only,static=unknown": 2,
  });
  workers = [];
  assert.deepEqual(await values("working_pods"), {}, "each scrape counts again");
});
