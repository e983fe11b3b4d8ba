import assert from "node:assert/strict";
import { test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { FakeClock, settle } from "../../../lib/base/fake-clock.ts";
import { metricValues } from "../../../lib/base/fixtures.ts";
import { silentLogger } from "../../../lib/base/logger.ts";
import { createMetrics } from "../../../lib/base/metrics.ts";
import { epochMs } from "../../../lib/base/time.ts";
import { ContainerEventResponseSchema } from "../../../lib/gen/runtime/v1/api_pb.js";
import { EventStream } from "./event-stream.ts";
import { createEventStreamMetrics } from "./event-stream-metrics.ts";

// parity: metric /metrics kubelet_evented_pleg_connection_success_count
// parity: metric /metrics kubelet_evented_pleg_connection_error_count
// parity: metric /metrics kubelet_evented_pleg_connection_latency_seconds
test("opened and broken streams are counted, not the one that is stopped; events are measured by their delay", async () => {
  const metrics = createMetrics();
  const clock = new FakeClock();
  const stop = new AbortController();
  const ends = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let opened = 0;
  stop.signal.addEventListener("abort", () => ends[1]!.resolve());
  const stream = new EventStream({
    runtime: {
      async *containerEvents() {
        const end = ends[opened++]!;
        yield create(ContainerEventResponseSchema, {
          createdAt: BigInt(epochMs(clock.wall()) - 40) * 1_000_000n,
        });
        yield create(ContainerEventResponseSchema, {});
        await end.promise;
      },
    },
    clock,
    logger: silentLogger,
    hints: { received() {} },
    pleg: { relistSoon() {} },
    metrics: createEventStreamMetrics(metrics),
  });
  const values = async () => [
    (await metricValues(metrics, "kubelet_evented_pleg_connection_success_count"))[""] ?? 0,
    (await metricValues(metrics, "kubelet_evented_pleg_connection_error_count"))[""] ?? 0,
    (await metricValues(metrics, "kubelet_evented_pleg_connection_latency_seconds")).sum,
  ];
  await stream.start(stop.signal);
  await settle();
  assert.deepEqual(await values(), [0, 0, 0.04], "an event without a creation time is not measured");
  await clock.advance(500);
  assert.deepEqual(await values(), [1, 0, 0.04]);
  ends[0]!.resolve();
  await settle();
  assert.deepEqual(await values(), [1, 1, 0.04]);
  await clock.advance(1500);
  assert.deepEqual(await values(), [2, 1, 0.08]);
  stop.abort();
  await stream.done;
  assert.deepEqual(await values(), [2, 1, 0.08]);
});
