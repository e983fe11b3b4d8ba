import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { startFakeRuntime } from "../../../../test/fake-runtime/fake-runtime.ts";
import { systemClock } from "../../base/clock.ts";
import { silentLogger } from "../../base/logger.ts";
import { createMetrics } from "../../base/metrics.ts";
import { type FinishedSpan, RecordingTracer } from "../../base/tracing/tracer.ts";
import { createCriClient } from "./client.ts";
import { callUnary } from "./grpc-call.ts";
import { unaryCalls } from "./traced-call.ts";

test("without a tracer a call has no overhead", () => {
  assert.equal(unaryCalls(undefined), callUnary);
});

test("a call that fails has its code, and is still propagated to the runtime", async (t) => {
  const dir = await mkdtemp(join(tmpdir(), "traced-call-"));
  const runtime = await startFakeRuntime({ socketPath: join(dir, "cri.sock") });
  const spans: FinishedSpan[] = [];
  const client = createCriClient({
    runtimeEndpoint: runtime.endpoint,
    requestTimeoutMs: 10_000,
    clock: systemClock,
    logger: silentLogger,
    metrics: createMetrics(),
    tracer: new RecordingTracer({ sampler: () => true, onEnd: (span) => spans.push(span) }),
  });
  t.after(async () => {
    client.close();
    await runtime.close();
    await rm(dir, { recursive: true });
  });
  await assert.rejects(client.containerStatus("none" as never));
  const [span] = spans;
  assert.equal(span?.name, "runtime.v1.RuntimeService/ContainerStatus");
  assert.equal(span.attributes["rpc.response.status_code"], "NotFound");
  assert.ok(span.error);
  assert.equal(runtime.calls[0]?.traceparent, `00-${span.traceId}-${span.spanId}-01`);
});
