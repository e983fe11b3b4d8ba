import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { anObservedContainer, anObservedPod, aSandbox } from "../../../../test/builders/pods.ts";
import { FakeClock, settle } from "../../../lib/base/fake-clock.ts";
import { metricValues } from "../../../lib/base/fixtures.ts";
import { silentLogger } from "../../../lib/base/logger.ts";
import { createMetrics } from "../../../lib/base/metrics.ts";
import { epochMs } from "../../../lib/base/time.ts";
import type { PodUid } from "../../../lib/model/pod.ts";
import { type ObservedPod, ObservedPods } from "../../state/observed-pods.ts";
import { FakeRuntimeView } from "./fake-runtime-view.ts";
import { Pleg } from "./pleg.ts";
import { createPlegMetrics } from "./pleg-metrics.ts";

/** PLEG on a runtime that takes this long for a listing. */
async function setUp(t: TestContext, listMs: number) {
  const metrics = createMetrics();
  const clock = new FakeClock();
  const observed = new ObservedPods();
  const view = new FakeRuntimeView();
  const slow = (call: string) =>
    call.startsWith("list") ? new Promise<void>((done) => clock.after(listMs, done)) : undefined;
  view.before = slow;
  const stop = new AbortController();
  const pleg = new Pleg({
    runtime: view.runtime,
    observed,
    clock,
    logger: silentLogger,
    relistEveryMs: () => 1000,
    onEvent: () => {},
    metrics: createPlegMetrics(metrics, observed),
  });
  const startedAt = epochMs(clock.wall()) / 1000;
  await pleg.start(stop.signal);
  t.after(async () => {
    stop.abort();
    await clock.advance(listMs);
    await pleg.done;
  });
  await settle();
  const values = (name: string) => metricValues(metrics, `kubelet_${name}`);
  return { clock, view, slow, pleg, values, startedAt };
}

// parity: metric /metrics kubelet_pleg_relist_duration_seconds, metric /metrics kubelet_pleg_relist_interval_seconds
// parity: metric /metrics kubelet_pleg_last_seen_seconds
test("duration and interval of relists are measured", async (t) => {
  const { clock, values, startedAt } = await setUp(t, 250);
  assert.deepEqual(await values("pleg_last_seen_seconds"), {}, "the runtime has not responded yet");
  await clock.advance(250);
  assert.deepEqual(await values("pleg_relist_duration_seconds"), { count: 1, sum: 0.25 });
  assert.deepEqual(await values("pleg_relist_interval_seconds"), {});
  assert.deepEqual(await values("pleg_last_seen_seconds"), { "": startedAt });
  await clock.advance(1250);
  assert.deepEqual(await values("pleg_relist_duration_seconds"), { count: 2, sum: 0.5 });
  assert.deepEqual(await values("pleg_relist_interval_seconds"), { count: 1, sum: 1.25 });
  assert.deepEqual(await values("pleg_last_seen_seconds"), { "": Math.floor(startedAt + 1.25) });
});

test("a relist that fails has a duration too, and does not count as seen", async (t) => {
  const { clock, view, slow, values, startedAt } = await setUp(t, 0);
  await clock.advance(0);
  view.before = () => {
    throw new Error("broken");
  };
  await clock.advance(1000);
  view.before = slow;
  assert.deepEqual(await values("pleg_relist_duration_seconds"), { count: 2 });
  assert.deepEqual(await values("pleg_last_seen_seconds"), { "": startedAt });
  await clock.advance(1000);
  assert.deepEqual(
    await values("pleg_relist_interval_seconds"),
    { count: 2, sum: 3 },
    "both count from the one that succeeded",
  );
  await clock.advance(1000);
  assert.deepEqual(await values("pleg_relist_interval_seconds"), { count: 3, sum: 4 });
});

// parity: metric /metrics kubelet_pleg_pod_relist_duration_seconds
test("the refresh of one pod is measured separately", async (t) => {
  const { clock, pleg, values } = await setUp(t, 100);
  await clock.advance(100);
  const refreshed = pleg.refresh("u" as PodUid);
  await clock.advance(100);
  await refreshed;
  assert.deepEqual(await values("pleg_pod_relist_duration_seconds"), { count: 1, sum: 0.1 });
  assert.deepEqual(await values("pleg_relist_duration_seconds"), { count: 1, sum: 0.1 });
});

// parity: metric /metrics kubelet_running_pods, metric /metrics kubelet_running_containers
test("a pod runs while it has a ready sandbox; containers are counted by state", async () => {
  const metrics = createMetrics();
  const pods: ObservedPod[] = [
    anObservedPod([anObservedContainer("a"), anObservedContainer("b", { state: "exited" })]),
    anObservedPod(
      [anObservedContainer("a"), anObservedContainer("b", { state: "created" })],
      [aSandbox(), aSandbox()],
    ),
    anObservedPod([anObservedContainer("a", { state: "exited" })], [aSandbox({ state: "notready" })]),
  ];
  createPlegMetrics(metrics, { all: () => pods });
  assert.deepEqual(await metricValues(metrics, "kubelet_running_pods"), { "": 2 });
  assert.deepEqual(await metricValues(metrics, "kubelet_running_containers"), {
    "container_state=running": 2,
    "container_state=exited": 2,
    "container_state=created": 1,
  });
  pods.length = 0;
  assert.deepEqual(await metricValues(metrics, "kubelet_running_pods"), {});
  assert.deepEqual(await metricValues(metrics, "kubelet_running_containers"), {}, "none when they are gone");
});
