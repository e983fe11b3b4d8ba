import assert from "node:assert/strict";
import { test } from "node:test";
import { clientRate } from "./client-rate.ts";

for (const [qps, burst, want] of [
  [50, 100, { qps: 50, burst: 100 }],
  [0, 100, { qps: 5, burst: 100 }],
  [50, 0, { qps: 50, burst: 10 }],
  [0, 0, { qps: 5, burst: 10 }],
] as const)
  test(`QPS ${qps} and burst ${burst} are ${want.qps} and ${want.burst}`, () =>
    assert.deepEqual(clientRate(qps, burst), want));
