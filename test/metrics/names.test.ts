import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { systemClock } from "../../src/base/clock.ts";
import { createMetrics, type Metrics } from "../../src/base/metrics.ts";
import { createOperationMetrics } from "../../src/clients/cri/operation-metrics.ts";
import { requestMetrics as clientMetrics } from "../../src/clients/kube/request-metrics.ts";
import type { CgroupDriver } from "../../src/host/cgroups/driver.ts";
import { startupMetrics } from "../../src/node/startup-metrics.ts";
import { createEventStreamMetrics } from "../../src/pipeline/pleg/event-stream-metrics.ts";
import { createPlegMetrics } from "../../src/pipeline/pleg/pleg-metrics.ts";
import { createStartMetrics } from "../../src/pipeline/pod-runtime/start-metrics.ts";
import { createPodCounts } from "../../src/pipeline/pod-workers/pod-counts.ts";
import { createWorkerMetrics } from "../../src/pipeline/pod-workers/worker-metrics.ts";
import { createApiWriterMetrics } from "../../src/pipeline/status-manager/api-writer-metrics.ts";
import { StartTimes } from "../../src/pipeline/status-manager/start-times.ts";
import { createStatusMetrics } from "../../src/pipeline/status-manager/status-metrics.ts";
import { createOrphanMetrics } from "../../src/pipeline/sync-loop/orphan-metrics.ts";
import { imageMetrics } from "../../src/pods/images/image-metrics.ts";
import { recordMetrics } from "../../src/pods/images/records/record-metrics.ts";
import { LifecycleHooks } from "../../src/pods/lifecycle/lifecycle-hooks.ts";
import { probeMetrics } from "../../src/pods/probes/probe-metrics.ts";
import { imageVolumeMetrics } from "../../src/pods/volumes/image/image-metrics.ts";
import { measurementMetric, volumeMetrics } from "../../src/pods/volumes/manager/volume-metrics.ts";
import { timedCgroups } from "../../src/resources/cgroups/cgroup-times.ts";
import { requestMetrics } from "../../src/server/https/request-metrics.ts";
import { fakeMetricsOptions } from "../../src/server/metrics/fake-metrics.ts";
import { metricsRoutes } from "../../src/server/metrics/routes.ts";
import { droppedEvents } from "../../src/server/pods-api/dropped-events.ts";
import type { Exchange } from "../../src/server/route.ts";
import { type Known, knownMetrics, listedMetrics } from "./known-names.ts";
import { labelsOf, parsePrometheus } from "./prometheus-text.ts";

/** All that the parts of an agent count. */
function agentMetrics(): Metrics {
  const metrics = createMetrics();
  createOperationMetrics(metrics);
  createEventStreamMetrics(metrics);
  createPlegMetrics(metrics, { all: () => [] });
  createStartMetrics(metrics);
  createWorkerMetrics({ metrics, runs: () => false });
  createPodCounts(metrics, { desired: () => [], active: () => [], mirrors: () => [], workers: () => [] });
  createApiWriterMetrics(metrics);
  createStatusMetrics(metrics);
  new StartTimes({ metrics, clock: systemClock, initMs: () => 0 });
  startupMetrics({ metrics, clock: systemClock, bootedAt: 0, startedAt: 0 });
  clientMetrics(metrics);
  timedCgroups({} as CgroupDriver, metrics, systemClock);
  imageMetrics(metrics);
  recordMetrics(metrics, () => ({ intents: 0, pulled: 0 }), { intents: 1, pulled: 1 });
  new LifecycleHooks({ metrics } as ConstructorParameters<typeof LifecycleHooks>[0]);
  imageVolumeMetrics(metrics);
  createOrphanMetrics(metrics);
  measurementMetric(metrics);
  volumeMetrics(metrics, () => new Map() as never);
  droppedEvents(metrics);
  requestMetrics({ metrics, clock: systemClock, serverType: "readwrite", known: new Set() });
  return metrics;
}

/** What a registry would tell if there were something to tell. */
function declared({ registry }: Metrics): Known[] {
  return registry.getMetricsAsArray().map((metric) => {
    const { name, labelNames } = metric as unknown as { name: string; labelNames: readonly string[] };
    const labels = [...labelNames].sort((a, b) => (a < b ? -1 : 1)).join(",");
    return { name, labels, type: metric.constructor.name.toLowerCase() };
  });
}

async function told(path: string, probes: Metrics, agent: Metrics): Promise<Known[]> {
  const options = fakeMetricsOptions();
  const route = metricsRoutes(options).find((each) => each.path === path)!;
  let text = "";
  const response = { writeHead: () => response, end: (body: Buffer) => (text = body.toString()) };
  await route.handle({
    request: { headers: {} },
    response,
    query: new URLSearchParams(),
  } as unknown as Exchange);
  const parsed = [...parsePrometheus(text).values()].map(({ name, type, samples }) => ({
    ...{ name, type, labels: labelsOf(samples[0]!).join(",") },
  }));
  if (path === "/metrics") return [...parsed, ...declared(agent)];
  return path === "/metrics/probes" ? [...parsed, ...declared(probes)] : parsed;
}

describe("every metric of a kubelet", () => {
  const known = knownMetrics();
  const listed = listedMetrics();
  const probes = createMetrics();
  probeMetrics(probes);
  const agent = agentMetrics();

  it("is in the list, and the list has no other", () => {
    assert.deepEqual([...listed.keys()], [...known.keys()]);
    for (const [endpoint, metrics] of known)
      assert.deepEqual(
        listed.get(endpoint)?.map(({ name, type, labels }) => ({ name, type, labels })),
        metrics,
        endpoint,
      );
  });

  for (const [endpoint, metrics] of listed)
    it(`${endpoint}: is told as listed, or not and the list says why`, async () => {
      const ours = new Map((await told(endpoint, probes, agent)).map((metric) => [metric.name, metric]));
      for (const { name, type, labels, there } of metrics) {
        const found = ours.get(name);
        if (there === "yes") assert.deepEqual(found, { name, type, labels }, `${endpoint} ${name}`);
        else {
          assert.equal(found, undefined, `${name} is told, and the list says that it is not`);
          assert.ok(there.length > 20, `${name}: no reason`);
        }
      }
    });
});
