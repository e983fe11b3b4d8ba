import assert from "node:assert/strict";
import { it } from "node:test";
import { createMetrics } from "../../../lib/base/metrics.ts";
import { fakePod } from "../../../lib/model/fake-pod.ts";
import type { LimitSettings } from "./limits.ts";
import { memoryQosMetrics } from "./memory-qos-metrics.ts";

const settings: LimitSettings = {
  cpuCfsQuota: true,
  cpuCfsQuotaPeriodUs: 100_000n,
  podPidsLimit: -1n,
  podLevelResources: true,
  memoryQos: true,
  memoryReservationPolicy: "TieredReservation",
  hugepageSizes: [],
};
const both = { cpu: "1", memory: "64Mi" };
const pods = [
  fakePod({ spec: { containers: [{ resources: { requests: both, limits: both } }] } }),
  fakePod({ spec: { containers: [{ resources: { requests: { memory: "16Mi" } } }] } }),
  fakePod(),
];

async function recorded(over: Partial<LimitSettings>): Promise<number[]> {
  const metrics = createMetrics();
  memoryQosMetrics(metrics, { ...settings, ...over })?.(pods);
  const text = await metrics.registry.metrics();
  return ["min", "low"].flatMap((kind) => {
    const value = new RegExp(`^kubelet_memory_qos_node_memory_${kind}_bytes (\\d+)$`, "m").exec(text)?.[1];
    return value === undefined ? [] : [Number(value)];
  });
}

it("the memory that is reserved for Guaranteed and for Burstable pods is recorded", async () => {
  assert.deepEqual(await recorded({}), [64 << 20, 16 << 20]);
  assert.deepEqual(await recorded({ memoryReservationPolicy: "None" }), [0, 0]);
});

it("without memory QoS there are no such metrics", async () => {
  assert.deepEqual(await recorded({ memoryQos: false }), []);
});
