import assert from "node:assert/strict";
import { test } from "node:test";
import { type FinishedSpan, RecordingTracer } from "../../../lib/base/tracing/tracer.ts";
import { HttpError } from "../http-error.ts";
import type { Exchange } from "../route.ts";
import { tracedExchange } from "./traced-exchange.ts";

const callerContext = { traceId: "a".repeat(32), spanId: "b".repeat(16), sampled: true };

async function serve(
  trustsCallers: boolean,
  work: () => Promise<void>,
  o: { traceparent?: string; status?: number } = {},
): Promise<{ span: FinishedSpan; thrown: unknown }> {
  const spans: FinishedSpan[] = [];
  const tracer = new RecordingTracer({ sampler: () => true, onEnd: (span) => spans.push(span) });
  const { traceparent = `00-${callerContext.traceId}-${callerContext.spanId}-01`, status = 200 } = o;
  const exchange = {
    request: { method: "GET", url: "/pods?x=secret", headers: { traceparent }, httpVersion: "1.1" },
    response: { statusCode: status },
  } as unknown as Exchange;
  let thrown: unknown;
  await tracedExchange({ tracer, trustsCallers }, "/pods", exchange, work).catch((error) => {
    thrown = error;
  });
  return { span: spans[0]!, thrown };
}

test("the trace of an authenticated caller is continued", async () => {
  const { span } = await serve(true, async () => {});
  assert.deepEqual(
    [span.name, span.kind, span.traceId, span.parentId, span.links],
    ["/pods", "server", callerContext.traceId, callerContext.spanId, []],
  );
  assert.equal(span.attributes["url.path"], "/pods", "the query is omitted");
});

test("the trace of an unauthenticated caller is only linked", async () => {
  const { span } = await serve(false, async () => {});
  assert.equal(span.parentId, undefined);
  assert.notEqual(span.traceId, callerContext.traceId);
  assert.deepEqual(span.links, [callerContext]);
});

test("an invalid header is ignored", async () => {
  const { span } = await serve(true, async () => {}, { traceparent: "nonsense" });
  assert.deepEqual([span.parentId, span.links], [undefined, []]);
});

for (const [name, error, status, failed] of [
  ["a rejection", new HttpError(404, "not here"), 404, undefined],
  ["an internal error that is reported as one", new HttpError(500, "broken"), 500, "broken"],
] as const)
  test(`${name} is rethrown, with its status in the span`, async () => {
    const { span, thrown } = await serve(true, async () => {
      throw error;
    });
    assert.equal(thrown, error);
    assert.deepEqual([span.attributes["http.response.status_code"], span.error], [status, failed]);
  });

test("other errors are the error of the span", async () => {
  const error = new Error("bug");
  const { span, thrown } = await serve(true, async () => {
    throw error;
  });
  assert.equal(thrown, error);
  assert.equal(span.error, "bug");
});
