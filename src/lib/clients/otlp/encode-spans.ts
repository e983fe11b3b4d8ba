import type { MessageInitShape } from "@bufbuild/protobuf";
import type { AttributeValue, FinishedSpan, SpanKind } from "../../base/tracing/tracer.ts";
import type { ExportTraceServiceRequestSchema } from "../../gen/opentelemetry/proto/collector/trace/v1/trace_service_pb.js";
import type { KeyValueSchema } from "../../gen/opentelemetry/proto/common/v1/common_pb.js";
import { Span_SpanKind, Status_StatusCode } from "../../gen/opentelemetry/proto/trace/v1/trace_pb.js";

export type Attributes = Readonly<Record<string, AttributeValue>>;

/** The scope name of the reference kubelet's spans: queries and filters use it. */
const scope = { name: "k8s.io/kubernetes/pkg/kubelet" };
const kinds: Record<SpanKind, Span_SpanKind> = {
  internal: Span_SpanKind.INTERNAL,
  server: Span_SpanKind.SERVER,
  client: Span_SpanKind.CLIENT,
};

/** The OTLP export request for spans. */
export function exportRequest(
  resource: Attributes,
  spans: readonly FinishedSpan[],
): MessageInitShape<typeof ExportTraceServiceRequestSchema> {
  return {
    resourceSpans: [
      {
        resource: { attributes: keyValues(resource) },
        scopeSpans: [{ scope, spans: spans.map(encoded) }],
      },
    ],
  };
}

function encoded(span: FinishedSpan) {
  const { error, parentId } = span;
  return {
    traceId: bytes(span.traceId),
    spanId: bytes(span.spanId),
    parentSpanId: parentId === undefined ? new Uint8Array() : bytes(parentId),
    name: span.name,
    kind: kinds[span.kind],
    startTimeUnixNano: nanoseconds(span.startedAt),
    endTimeUnixNano: nanoseconds(span.endedAt),
    attributes: keyValues(span.attributes),
    links: span.links.map(({ traceId, spanId, sampled }) => ({
      traceId: bytes(traceId),
      spanId: bytes(spanId),
      flags: sampled ? 1 : 0,
    })),
    events: error === undefined ? [] : [exception(span.endedAt, error)],
    status: error === undefined ? undefined : { code: Status_StatusCode.ERROR, message: error },
    flags: 1,
  };
}

/** Viewers show an error by this event. */
function exception(at: number, message: string) {
  return {
    timeUnixNano: nanoseconds(at),
    name: "exception",
    attributes: keyValues({ "exception.message": message }),
  };
}

function keyValues(attributes: Attributes): MessageInitShape<typeof KeyValueSchema>[] {
  return Object.entries(attributes).map(([key, value]) => ({ key, value: { value: anyValue(value) } }));
}

function anyValue(value: AttributeValue) {
  switch (typeof value) {
    case "string":
      return { case: "stringValue" as const, value };
    case "boolean":
      return { case: "boolValue" as const, value };
    case "number":
      return Number.isInteger(value)
        ? { case: "intValue" as const, value: BigInt(value) }
        : { case: "doubleValue" as const, value };
    default:
      return value satisfies never;
  }
}

function bytes(hex: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(Buffer.from(hex, "hex"));
}

/** Whole milliseconds and the fraction separately: a double cannot hold both. */
function nanoseconds(ms: number): bigint {
  const whole = Math.floor(ms);
  return BigInt(whole) * 1_000_000n + BigInt(Math.round((ms - whole) * 1e6));
}
