import assert from "node:assert/strict";
import { test } from "node:test";
import { TraceCollector } from "../../../../test/cluster/trace-collector.ts";
import { systemClock } from "../../base/clock.ts";
import type { FinishedSpan } from "../../base/tracing/tracer.ts";
import { Span_SpanKind } from "../../gen/opentelemetry/proto/trace/v1/trace_pb.js";
import { otlpCollector } from "./collector.ts";

const remote = { traceId: "c".repeat(32), spanId: "d".repeat(16), sampled: true };
const span: FinishedSpan = {
  traceId: "a".repeat(32),
  spanId: "b".repeat(16),
  sampled: true,
  parentId: "e".repeat(16),
  name: "work",
  kind: "server",
  startedAt: 1_700_000_000_000.125,
  endedAt: 1_700_000_000_001,
  attributes: { text: "x", whole: 3, part: 0.5, yes: true },
  error: "broken",
  links: [remote],
};
const signal = new AbortController().signal;

test("a span arrives unchanged, to the nanosecond", async (t) => {
  const received = await TraceCollector.start();
  const collector = otlpCollector(received.endpoint, { "service.name": "kubelet" }, systemClock);
  t.after(() => {
    collector.close();
    received.stop();
  });
  assert.deepEqual(await collector.send([span], signal), { rejected: 0 });
  assert.deepEqual(received.resources, [{ "service.name": "kubelet" }]);
  assert.deepEqual(received.spans, [
    {
      name: "work",
      kind: Span_SpanKind.SERVER,
      error: "broken",
      traceId: span.traceId,
      spanId: span.spanId,
      parentId: span.parentId,
      start: 1_700_000_000_000_125_000n,
      end: 1_700_000_000_001_000_000n,
      attributes: { text: "x", whole: 3, part: 0.5, yes: true },
      links: [`${remote.traceId}/${remote.spanId}`],
    },
  ]);
});

test("connection refused can be retried", async (t) => {
  const stopped = await TraceCollector.start();
  stopped.stop();
  const collector = otlpCollector(stopped.endpoint, {}, systemClock);
  t.after(() => collector.close());
  const error = await collector.send([span], signal).then(
    () => assert.fail("it was sent"),
    (error: unknown) => error,
  );
  assert.equal(collector.mayRetry(error), true);
  assert.equal(collector.mayRetry(new Error("something else")), false);
});
