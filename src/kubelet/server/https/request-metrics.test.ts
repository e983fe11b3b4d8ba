import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "../../../lib/base/fake-clock.ts";
import { metricValues } from "../../../lib/base/fixtures.ts";
import { createMetrics } from "../../../lib/base/metrics.ts";
import { requestMetrics } from "./request-metrics.ts";

const known = new Set(["pods", "metrics", "metrics/cadvisor", "exec", "portForward"]);

function setUp(serverType: "readwrite" | "readonly" = "readwrite") {
  const clock = new FakeClock();
  const metrics = createMetrics();
  return {
    clock,
    start: requestMetrics({ metrics, clock, serverType, known }).start,
    values: (name: string) => metricValues(metrics, name),
  };
}

const requests: [method: string, path: string, method: string, path: string, longRunning: boolean][] = [
  ["GET", "/pods", "GET", "pods", false],
  ["GET", "/pods/", "GET", "pods", false],
  ["GET", "/metrics", "GET", "metrics", false],
  ["GET", "/metrics/cadvisor", "GET", "metrics/cadvisor", false],
  ["POST", "/exec/default/web/app", "POST", "exec", true],
  ["GET", "/metrics/other", "GET", "other", false],
  ["GET", "/nonsense/x", "GET", "other", false],
  ["GET", "/", "GET", "other", false],
  ["BREW", "/pods", "other", "pods", false],
];
// parity: metric /metrics kubelet_http_requests_total
for (const [sent, url, method, path, longRunning] of requests)
  test(`${sent} ${url} counts as ${method} ${path}${longRunning ? ", which runs long" : ""}`, async () => {
    const { start, values } = setUp();
    start(sent, url);
    const labels = `method=${method},path=${path},server_type=readwrite,long_running=${longRunning}`;
    assert.deepEqual(await values("kubelet_http_requests_total"), { [labels]: 1 });
  });

// parity: metric /metrics kubelet_http_inflight_requests
test("a request is in flight until it has completed, and its duration is measured", async () => {
  const { start, values, clock } = setUp("readonly");
  const labels = "method=GET,path=pods,server_type=readonly,long_running=false";
  const ends = [start("GET", "/pods"), start("GET", "/pods")];
  assert.deepEqual(await values("kubelet_http_inflight_requests"), { [labels]: 2 });
  await clock.advance(300);
  for (const end of ends) end();
  assert.deepEqual(await values("kubelet_http_inflight_requests"), {});
  assert.deepEqual(await values("kubelet_http_requests_duration_seconds"), {
    [`${labels},sum`]: 0.6,
    [`${labels},count`]: 2,
  });
});
