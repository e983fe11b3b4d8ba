import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FakeClock } from "../../lib/base/fake-clock.ts";
import { createMetrics } from "../../lib/base/metrics.ts";
import { wallTime } from "../../lib/base/time.ts";
import { startupMetrics } from "./startup-metrics.ts";

const steps = [
  "kubelet_node_startup_pre_kubelet_duration_seconds",
  "kubelet_node_startup_pre_registration_duration_seconds",
  "kubelet_node_startup_registration_duration_seconds",
  "kubelet_node_startup_post_registration_duration_seconds",
  "kubelet_node_startup_duration_seconds",
];

function setUp() {
  const metrics = createMetrics();
  const clock = new FakeClock(100_000);
  const startup = startupMetrics({ metrics, clock, bootedAt: wallTime(40_000), startedAt: wallTime(90_000) });
  const exposed = async () => {
    const text = await metrics.registry.metrics();
    const value = (step: string) => new RegExp(`^${step} (\\S+)$`, "m").exec(text)?.[1];
    return steps.map((step) => Number(value(step)));
  };
  return { startup, clock, exposed };
}

describe("startup metrics", () => {
  // parity: metric /metrics kubelet_node_startup_pre_kubelet_duration_seconds
  // parity: metric /metrics kubelet_node_startup_pre_registration_duration_seconds
  // parity: metric /metrics kubelet_node_startup_registration_duration_seconds
  // parity: metric /metrics kubelet_node_startup_post_registration_duration_seconds
  // parity: metric /metrics kubelet_node_startup_duration_seconds
  it("each step has its duration, once", async () => {
    const { startup, clock, exposed } = setUp();
    assert.deepEqual(await exposed(), [0, 0, 0, 0, 0]);
    startup.attempting();
    await clock.advance(2000);
    startup.attempting();
    startup.registered();
    await clock.advance(3000);
    startup.ready();
    await clock.advance(60_000);
    startup.registered();
    startup.ready();
    assert.deepEqual(await exposed(), [50, 10, 2, 3, 65]);
  });

  it("an existing node has none", async () => {
    const { startup, clock, exposed } = setUp();
    startup.attempting();
    await clock.advance(2000);
    startup.ready();
    assert.deepEqual(await exposed(), [0, 0, 0, 0, 0]);
  });
});
