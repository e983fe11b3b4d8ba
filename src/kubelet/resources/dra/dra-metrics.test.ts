import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "../../../lib/base/fake-clock.ts";
import { metricValues } from "../../../lib/base/fixtures.ts";
import { createMetrics } from "../../../lib/base/metrics.ts";
import { draMetrics } from "./dra-metrics.ts";

// parity: metric /metrics dra_operations_duration_seconds
test("the work for the claims of a pod is measured by operation and success, also for pods without claims", async () => {
  const clock = new FakeClock();
  const metrics = createMetrics();
  const { timed, nothingToPrepare } = draMetrics(metrics, clock, new Map());
  assert.equal(await timed("PrepareResources", () => clock.advance(2000).then(() => "prepared")), "prepared");
  nothingToPrepare();
  const failure = timed("UnprepareResources", async () => {
    await clock.advance(1000);
    throw new Error("no driver");
  });
  await assert.rejects(failure, { message: "no driver" });
  assert.deepEqual(await metricValues(metrics, "dra_operations_duration_seconds"), {
    "operation_name=PrepareResources,is_error=false,sum": 2,
    "operation_name=PrepareResources,is_error=false,count": 2,
    "operation_name=UnprepareResources,is_error=true,sum": 1,
    "operation_name=UnprepareResources,is_error=true,count": 1,
  });
});
