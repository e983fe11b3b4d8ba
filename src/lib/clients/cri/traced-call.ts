import type { DescMethod } from "@bufbuild/protobuf";
import { formatTraceparent } from "../../base/tracing/trace-context.ts";
import type { Tracer } from "../../base/tracing/tracer.ts";
import { CriError } from "./cri-error.ts";
import { type CallLimits, callStream, callUnary } from "./grpc-call.ts";

/** Calls with a span around each, propagated to the runtime. Without a tracer, plain calls. */
export function unaryCalls(tracer: Tracer | undefined): typeof callUnary {
  if (!tracer) return callUnary;
  return (channel, method, request, limits) =>
    withSpan(tracer, method, limits, (traced) => callUnary(channel, method, request, traced));
}

/** The same for streams. */
export function streamCalls(tracer: Tracer | undefined): typeof callStream {
  if (!tracer) return callStream;
  return (channel, method, request, limits) =>
    withSpan(tracer, method, limits, (traced) => callStream(channel, method, request, traced));
}

function withSpan<T>(
  tracer: Tracer,
  method: DescMethod,
  limits: CallLimits,
  call: (limits: CallLimits) => Promise<T>,
): Promise<T> {
  const name = `${method.parent.typeName}/${method.name}`;
  const attributes = { "rpc.method": name, "rpc.system.name": "grpc" };
  return tracer.run(name, { kind: "client", attributes }, async (span) => {
    const traceparent = formatTraceparent(span);
    try {
      const response = await call({ ...limits, traceparent });
      span.set("rpc.response.status_code", "OK");
      return response;
    } catch (error) {
      if (error instanceof CriError) span.set("rpc.response.status_code", goName(error.grpcCode));
      throw error;
    }
  });
}

/** NOT_FOUND -> NotFound, as in traces of Go programs. */
function goName(code: string): string {
  if (code === "CANCELLED") return "Canceled";
  return code.toLowerCase().replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
