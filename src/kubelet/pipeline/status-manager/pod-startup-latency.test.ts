import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FakeClock, monotonicTime } from "../../../lib/base/fake-clock.ts";
import { createMetrics } from "../../../lib/base/metrics.ts";
import { fakePod } from "../../../lib/model/fake-pod.ts";
import type { Pod, PodSpec, PodStatus } from "../../../lib/model/pod.ts";
import { covered, PodStartupLatency } from "./pod-startup-latency.ts";

const created = Date.parse("2026-01-01T00:00:00Z");
const started = { name: "c", state: { running: { startedAt: "2026-01-01T00:00:09Z" } } };

function setUp(initMs = 0) {
  const clock = new FakeClock(created);
  const metrics = createMetrics();
  const times = new PodStartupLatency({ metrics, clock, initMs: () => initMs });
  const pod = (status: unknown, spec: Partial<PodSpec> = {}): Pod => ({
    ...fakePod({
      metadata: { creationTimestamp: "2026-01-01T00:00:00Z" },
      spec: { containers: [{ name: "c" }], ...spec } as never,
    }),
    status: status as PodStatus,
  });
  /** The sums of the metrics; undefined if nothing was counted. */
  const measured = async () => {
    const text = await metrics.registry.metrics();
    const value = (name: string) => {
      const count = Number(new RegExp(`^${name}_count (\\S+)$`, "m").exec(text)?.[1]);
      return count === 0 ? undefined : Number(new RegExp(`^${name}_sum (\\S+)$`, "m").exec(text)?.[1]);
    };
    return [
      value("kubelet_pod_start_total_duration_seconds"),
      value("kubelet_pod_start_sli_duration_seconds"),
    ];
  };
  const first = async () => {
    const name = "kubelet_first_network_pod_start_sli_duration_seconds";
    return Number(new RegExp(`^${name} (\\S+)$`, "m").exec(await metrics.registry.metrics())?.[1]);
  };
  return { clock, times, pod, measured, first };
}

describe("pod startup latency", () => {
  // parity: metric /metrics kubelet_pod_start_sli_duration_seconds
  // parity: metric /metrics kubelet_pod_start_total_duration_seconds
  // parity: metric /metrics kubelet_first_network_pod_start_sli_duration_seconds
  it("is measured from creation to when all containers are observed as running; without pulls and init containers", async () => {
    const { clock, times, pod, measured, first } = setUp(1500);
    const web = pod({ phase: "Pending" });
    times.received(web);
    const done = times.pulling(web.metadata.uid);
    await clock.advance(4000);
    done();
    await clock.advance(6000);
    times.received(pod({ phase: "Pending", startTime: "x", containerStatuses: [{ name: "c", state: {} }] }));
    assert.deepEqual(await measured(), [undefined, undefined]);
    times.received(pod({ phase: "Running", startTime: "x", containerStatuses: [started] }));
    await clock.advance(60_000);
    times.received(pod({ phase: "Running", startTime: "x", containerStatuses: [started] }));
    assert.deepEqual(await measured(), [10, 4.5]);
    assert.equal(await first(), 4.5);
  });

  const running = { phase: "Running", startTime: "x", containerStatuses: [started] };
  const rows: [string, unknown, Partial<PodSpec>, (number | undefined)[]][] = [
    [
      "a pod that had started before it was seen does not count",
      { startTime: "x" },
      {},
      [undefined, undefined],
    ],
    [
      "a pod that was unschedulable does not count",
      { conditions: [{ type: "PodScheduled", status: "False" }] },
      {},
      [undefined, undefined],
    ],
    [
      "a stateful pod is included in the total only",
      {},
      { volumes: [{ name: "v", hostPath: { path: "/x" } }] },
      [2, undefined],
    ],
    [
      "volumes of API objects are not state",
      {},
      { volumes: [{ name: "v", secret: { secretName: "s" } }] },
      [2, 2],
    ],
  ];
  for (const [name, previous, spec, expected] of rows)
    it(name, async () => {
      const { clock, times, pod, measured } = setUp();
      times.received(pod(previous, spec));
      await clock.advance(2000);
      times.received(pod(running, spec));
      assert.deepEqual(await measured(), expected);
    });

  it("a pod that terminated, or is gone, does not count", async () => {
    for (const end of ["Failed", "gone"]) {
      const { times, pod, measured } = setUp();
      times.received(pod({}));
      if (end === "gone") times.forget(pod({}).metadata.uid);
      else times.received(pod({ phase: "Failed" }));
      times.received(pod(running));
      assert.deepEqual(await measured(), [undefined, undefined]);
    }
  });
});

it("overlapping spans count once", () => {
  const spans = (...all: [number, number][]) =>
    all.map(([from, to]) => ({ from: monotonicTime(from), to: monotonicTime(to) }));
  assert.equal(covered([]), 0);
  assert.equal(covered(spans([0, 5], [10, 12])), 7);
  assert.equal(covered(spans([3, 8], [0, 5], [4, 6])), 8);
});
