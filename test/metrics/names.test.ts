import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { startupMetrics } from "../../src/kubelet/node/startup-metrics.ts";
import { createEventStreamMetrics } from "../../src/kubelet/pipeline/pleg/event-stream-metrics.ts";
import { createPlegMetrics } from "../../src/kubelet/pipeline/pleg/pleg-metrics.ts";
import { createStartMetrics } from "../../src/kubelet/pipeline/pod-runtime/start-metrics.ts";
import { createPodCounts } from "../../src/kubelet/pipeline/pod-workers/pod-counts.ts";
import { createWorkerMetrics } from "../../src/kubelet/pipeline/pod-workers/worker-metrics.ts";
import { createApiWriterMetrics } from "../../src/kubelet/pipeline/status-manager/api-writer-metrics.ts";
import { PodStartupLatency } from "../../src/kubelet/pipeline/status-manager/pod-startup-latency.ts";
import { createStatusMetrics } from "../../src/kubelet/pipeline/status-manager/status-metrics.ts";
import { createOrphanMetrics } from "../../src/kubelet/pipeline/sync-loop/orphan-metrics.ts";
import { imageMetrics } from "../../src/kubelet/pods/images/image-metrics.ts";
import { recordMetrics } from "../../src/kubelet/pods/images/records/record-metrics.ts";
import { LifecycleHooks } from "../../src/kubelet/pods/lifecycle/lifecycle-hooks.ts";
import { rotationQueue } from "../../src/kubelet/pods/logs/rotation-queue.ts";
import { probeMetrics } from "../../src/kubelet/pods/probes/probe-metrics.ts";
import { imageVolumeMetrics } from "../../src/kubelet/pods/volumes/image/image-metrics.ts";
import { measurementMetric, volumeMetrics } from "../../src/kubelet/pods/volumes/manager/volume-metrics.ts";
import { createResizeMetrics } from "../../src/kubelet/resources/allocation/resize-metrics.ts";
import type { CgroupManager } from "../../src/kubelet/resources/cgroups/cgroup-manager.ts";
import { timedCgroups } from "../../src/kubelet/resources/cgroups/cgroup-times.ts";
import { noAssignments } from "../../src/kubelet/resources/cpu/cpu-assignments.ts";
import { createCpuMetrics } from "../../src/kubelet/resources/cpu/cpu-metrics.ts";
import { draMetrics } from "../../src/kubelet/resources/dra/dra-metrics.ts";
import { memoryMetrics } from "../../src/kubelet/resources/memory/memory-metrics.ts";
import { ShutdownRecord } from "../../src/kubelet/resources/node-shutdown/shutdown-record.ts";
import { topologyMetrics } from "../../src/kubelet/resources/topology/topology-metrics.ts";
import { remainingLifetimes } from "../../src/kubelet/server/auth/client-certificates.ts";
import { requestMetrics } from "../../src/kubelet/server/https/request-metrics.ts";
import { fakeMetricsOptions } from "../../src/kubelet/server/metrics/fake-metrics.ts";
import { metricsRoutes } from "../../src/kubelet/server/metrics/routes.ts";
import { droppedEvents } from "../../src/kubelet/server/pods-api/dropped-events.ts";
import type { Exchange } from "../../src/kubelet/server/route.ts";
import { DesiredPods } from "../../src/kubelet/state/desired-pods.ts";
import { WorkerStates } from "../../src/kubelet/state/worker-states.ts";
import { systemClock } from "../../src/lib/base/clock.ts";
import { silentLogger } from "../../src/lib/base/logger.ts";
import { createMetrics, type Metrics } from "../../src/lib/base/metrics.ts";
import { wallTime } from "../../src/lib/base/time.ts";
import { createOperationMetrics } from "../../src/lib/clients/cri/operation-metrics.ts";
import { requestMetrics as clientMetrics } from "../../src/lib/clients/kube/request-metrics.ts";
import { type Known, knownMetrics, listedMetrics } from "./known-names.ts";
import { labelsOf, parsePrometheus } from "./prometheus-text.ts";

/** All metrics of an agent's components. */
function agentMetrics(): Metrics {
  const metrics = createMetrics();
  createOperationMetrics(metrics);
  createEventStreamMetrics(metrics);
  createPlegMetrics(metrics, { all: () => [] });
  createStartMetrics(metrics);
  createWorkerMetrics({ metrics, isRunning: () => false });
  createPodCounts(metrics, { desired: new DesiredPods(), active: () => [], workers: new WorkerStates() });
  createApiWriterMetrics(metrics);
  createStatusMetrics(metrics);
  new PodStartupLatency({ metrics, clock: systemClock, initMs: () => 0 });
  startupMetrics({ metrics, clock: systemClock, bootedAt: wallTime(0), startedAt: wallTime(0) });
  clientMetrics(metrics, systemClock);
  rotationQueue(metrics, systemClock);
  remainingLifetimes(metrics);
  timedCgroups({} as CgroupManager, metrics, systemClock);
  imageMetrics(metrics);
  recordMetrics(metrics, () => ({ intents: 0, pulled: 0 }), { intents: 1, pulled: 1 });
  new LifecycleHooks({ metrics } as ConstructorParameters<typeof LifecycleHooks>[0]);
  imageVolumeMetrics(metrics);
  createOrphanMetrics(metrics);
  createResizeMetrics(metrics, { all: () => [] });
  measurementMetric(metrics);
  volumeMetrics(metrics, () => new Map() as never);
  droppedEvents(metrics);
  topologyMetrics(metrics);
  createCpuMetrics(metrics, undefined, () => noAssignments);
  memoryMetrics(metrics);
  new ShutdownRecord({ rootDir: "/nonexistent", logger: silentLogger, metrics });
  draMetrics(metrics, systemClock, new Map());
  requestMetrics({ metrics, clock: systemClock, serverType: "readwrite", known: new Set() });
  return metrics;
}

/** The metrics of a registry, including those without samples. */
function declared({ registry }: Metrics): Known[] {
  return registry.getMetricsAsArray().map((metric) => {
    const { name, labelNames } = metric as unknown as { name: string; labelNames: readonly string[] };
    const labels = [...labelNames].sort((a, b) => (a < b ? -1 : 1)).join(",");
    return { name, labels, type: metric.constructor.name.toLowerCase() };
  });
}

async function exposed(path: string, probes: Metrics, agent: Metrics): Promise<Known[]> {
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
    name,
    type,
    labels: labelsOf(samples[0]!).join(","),
  }));
  if (path === "/metrics") return [...parsed, ...declared(agent)];
  return path === "/metrics/probes" ? [...parsed, ...declared(probes)] : parsed;
}

describe("metrics of the kubelet", () => {
  const known = knownMetrics();
  const listed = listedMetrics();
  const probes = createMetrics();
  probeMetrics(probes);
  const agent = agentMetrics();

  it("docs/METRICS.md lists exactly the metrics of the reference kubelet", () => {
    assert.deepEqual([...listed.keys()], [...known.keys()]);
    for (const [endpoint, metrics] of known)
      assert.deepEqual(
        listed.get(endpoint)?.map(({ name, type, labels }) => ({ name, type, labels })),
        metrics,
        endpoint,
      );
  });

  // parity: metric *, endpoint 10250 GET /metrics/probes
  for (const [endpoint, metrics] of listed)
    it(`${endpoint} exposes the listed metrics, and the list states why others are missing`, async () => {
      const ours = new Map((await exposed(endpoint, probes, agent)).map((metric) => [metric.name, metric]));
      for (const { name, type, labels, exposed } of metrics) {
        const found = ours.get(name);
        if (exposed === "yes") assert.deepEqual(found, { name, type, labels }, `${endpoint} ${name}`);
        else {
          assert.equal(found, undefined, `${name} is exposed, but listed as missing`);
          assert.ok(exposed.length > 20, `${name}: no reason`);
        }
      }
    });
});
