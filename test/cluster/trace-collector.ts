import { create } from "@bufbuild/protobuf";
import { Server, ServerCredentials, type ServerUnaryCall, type sendUnaryData } from "@grpc/grpc-js";
import { serviceDefinition } from "../../src/lib/clients/cri/service-definition.ts";
import {
  type ExportTraceServiceRequest,
  type ExportTraceServiceResponse,
  ExportTraceServiceResponseSchema,
  TraceService,
} from "../../src/lib/gen/opentelemetry/proto/collector/trace/v1/trace_service_pb.js";
import type { AnyValue, KeyValue } from "../../src/lib/gen/opentelemetry/proto/common/v1/common_pb.js";
import type { Span_SpanKind } from "../../src/lib/gen/opentelemetry/proto/trace/v1/trace_pb.js";

/** A received span. */
export interface ReceivedSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  /** Empty for the first of its trace. */
  readonly parentId: string;
  readonly kind: Span_SpanKind;
  readonly start: bigint;
  readonly end: bigint;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly error: string | undefined;
  readonly links: readonly string[];
}

/** A collector of OTLP over gRPC on a real port, which records spans, or does not respond. */
export class TraceCollector {
  readonly spans: ReceivedSpan[] = [];
  readonly resources: Record<string, unknown>[] = [];
  requests = 0;
  /** "silent" accepts requests and never responds. */
  behavior: "good" | "silent" = "good";
  readonly #server: Server;
  #port = 0;

  static async start(port = 0): Promise<TraceCollector> {
    const collector = new TraceCollector();
    await collector.#listen(port);
    return collector;
  }

  private constructor() {
    this.#server = new Server({ "grpc.enable_channelz": 0 });
    this.#server.addService(serviceDefinition(TraceService), {
      Export: (
        call: ServerUnaryCall<ExportTraceServiceRequest, ExportTraceServiceResponse>,
        callback: sendUnaryData<ExportTraceServiceResponse>,
      ) => {
        this.requests++;
        if (this.behavior === "silent") return;
        this.#take(call.request);
        callback(null, create(ExportTraceServiceResponseSchema));
      },
    } as never);
  }

  get endpoint(): string {
    return `127.0.0.1:${this.#port}`;
  }

  /** Spans of this name. */
  of(name: string): ReceivedSpan[] {
    return this.spans.filter((span) => span.name === name);
  }

  childrenOf(parent: ReceivedSpan): ReceivedSpan[] {
    return this.spans.filter(
      ({ traceId, parentId }) => traceId === parent.traceId && parentId === parent.spanId,
    );
  }

  /** Closes all connections. */
  stop(): void {
    this.#server.forceShutdown();
  }

  #listen(port: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.bindAsync(`127.0.0.1:${port}`, ServerCredentials.createInsecure(), (error, bound) => {
        if (error) return reject(error);
        this.#port = bound;
        resolve();
      });
    });
  }

  #take({ resourceSpans }: ExportTraceServiceRequest): void {
    for (const { resource, scopeSpans } of resourceSpans) {
      this.resources.push(plain(resource?.attributes ?? []));
      for (const span of scopeSpans.flatMap(({ spans }) => spans))
        this.spans.push({
          name: span.name,
          kind: span.kind,
          error: span.status?.message,
          traceId: hex(span.traceId),
          spanId: hex(span.spanId),
          parentId: hex(span.parentSpanId),
          start: span.startTimeUnixNano,
          end: span.endTimeUnixNano,
          attributes: plain(span.attributes),
          links: span.links.map((link) => `${hex(link.traceId)}/${hex(link.spanId)}`),
        });
    }
  }
}

function plain(attributes: readonly KeyValue[]): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, plainValue(value)]));
}

function plainValue(value: AnyValue | undefined): unknown {
  const inner = value?.value.value;
  return typeof inner === "bigint" ? Number(inner) : inner;
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}
