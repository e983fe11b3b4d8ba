import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createMetrics, exponentialBuckets } from "./metrics.ts";

describe("metrics", () => {
  it("returns the same metric for the same name", async () => {
    const metrics = createMetrics();
    const options = { name: "a_total", help: "a", labels: ["x"] as const };
    metrics.counter(options).inc({ x: "1" });
    metrics.counter(options).inc({ x: "1" });
    assert.match(await metrics.registry.metrics(), /^a_total\{x="1"\} 2$/m);
  });

  it("rejects one name for two types", () => {
    const metrics = createMetrics();
    metrics.counter({ name: "a", help: "a" });
    assert.throws(() => metrics.gauge({ name: "a", help: "a" }), /already registered/);
  });

  it("does not share numbers between registries", async () => {
    createMetrics().counter({ name: "a_total", help: "a" }).inc();
    assert.equal(await createMetrics().registry.metrics(), "\n");
  });

  it("collects the value of a gauge each time it is read", async () => {
    const metrics = createMetrics();
    let size = 1;
    metrics.gauge({ name: "a", help: "a", collect: (gauge) => gauge.set(size) });
    assert.match(await metrics.registry.metrics(), /^a 1$/m);
    size = 2;
    assert.match(await metrics.registry.metrics(), /^a 2$/m);
  });

  it("creates exponential buckets", () => {
    assert.deepEqual(exponentialBuckets(1, 2, 4), [1, 2, 4, 8]);
  });
});
