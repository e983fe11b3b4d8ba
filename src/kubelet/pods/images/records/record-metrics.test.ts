import assert from "node:assert/strict";
import { it } from "node:test";
import { metricValues } from "../../../../lib/base/fixtures.ts";
import { createMetrics } from "../../../../lib/base/metrics.ts";
import { recordMetrics } from "./record-metrics.ts";

// parity: metric /metrics kubelet_imagemanager_ondisk_pullintents, metric /metrics kubelet_imagemanager_ondisk_pulledrecords
// parity: metric /metrics kubelet_imagemanager_inmemory_pullintents_usage_percent
// parity: metric /metrics kubelet_imagemanager_inmemory_pulledrecords_usage_percent
it("records are counted with each scrape, and in percent of the expected number, 100 at most", async () => {
  const metrics = createMetrics();
  const counts = { intents: 1, pulled: 5 };
  recordMetrics(metrics, () => counts, { intents: 3, pulled: 10 });
  const values = async () => {
    const names = [
      "ondisk_pullintents",
      "inmemory_pullintents_usage_percent",
      "ondisk_pulledrecords",
      "inmemory_pulledrecords_usage_percent",
    ];
    const found = names.map((name) => metricValues(metrics, `kubelet_imagemanager_${name}`));
    return (await Promise.all(found)).map((value) => value[""]);
  };
  assert.deepEqual(await values(), [1, 33, 5, 50]);
  Object.assign(counts, { intents: 4, pulled: 10 });
  assert.deepEqual(await values(), [4, 100, 10, 100]);
});
