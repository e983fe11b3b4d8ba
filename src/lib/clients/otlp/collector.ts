import { credentials, Client as GrpcClient } from "@grpc/grpc-js";
import type { Clock } from "../../base/clock.ts";
import type { FinishedSpan } from "../../base/tracing/tracer.ts";
import { TraceService } from "../../gen/opentelemetry/proto/collector/trace/v1/trace_service_pb.js";
import { CriError } from "../cri/cri-error.ts";
import { callUnary } from "../cri/grpc-call.ts";
import { type Attributes, exportRequest } from "./encode-spans.ts";

export interface Collector {
  /** Resolves with the number of rejected spans. Rejects if the export failed. */
  send(spans: readonly FinishedSpan[], signal: AbortSignal): Promise<{ rejected: number }>;
  /** True if the export can be retried. */
  mayRetry(error: unknown): boolean;
  close(): void;
}

const responseTimeoutMs = 10_000;
const retryableCodes = new Set([
  "CANCELLED",
  "DEADLINE_EXCEEDED",
  "ABORTED",
  "OUT_OF_RANGE",
  "UNAVAILABLE",
  "DATA_LOSS",
]);

/** A collector of OTLP over gRPC, without TLS, as `tracing.endpoint` names it: host:port, or a target with dns: or unix:. */
export function otlpCollector(endpoint: string, resource: Attributes, clock: Clock): Collector {
  const channel = new GrpcClient(endpoint, credentials.createInsecure(), {
    "grpc.use_local_subchannel_pool": 1,
    "grpc.enable_channelz": 0,
    "grpc.enable_http_proxy": 0,
    "grpc.service_config_disable_resolution": 1,
    ...(/^unix(-abstract)?:/.test(endpoint) && { "grpc.default_authority": "localhost" }),
  });
  return {
    async send(spans, signal) {
      const limits = { clock, timeoutMs: responseTimeoutMs, signal };
      const method = TraceService.method.export;
      const { partialSuccess } = await callUnary(channel, method, exportRequest(resource, spans), limits);
      return { rejected: Number(partialSuccess?.rejectedSpans ?? 0n) };
    },
    mayRetry: (error) => error instanceof CriError && retryableCodes.has(error.grpcCode),
    close: () => channel.close(),
  };
}
