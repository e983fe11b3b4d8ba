import { parseTraceparent } from "../../../lib/base/tracing/trace-context.ts";
import type { Tracer } from "../../../lib/base/tracing/tracer.ts";
import { HttpError } from "../http-error.ts";
import type { Exchange } from "../route.ts";

export interface ServerTracing {
  readonly tracer: Tracer;
  /**
   * Callers are authenticated: their trace context is trusted. Otherwise each request starts its own trace, with a link to the caller's.
   */
  readonly trustsCallers: boolean;
}

/** A request to a route as a span, with target and caller from the headers. */
export async function tracedExchange(
  { tracer, trustsCallers }: ServerTracing,
  route: string,
  { request, response }: Exchange,
  work: () => Promise<void>,
): Promise<void> {
  const header = request.headers.traceparent;
  const callerContext = parseTraceparent(Array.isArray(header) ? header[0] : header);
  const agent = request.headers["user-agent"];
  const options = {
    kind: "server" as const,
    // The trace context of the connection does not apply to its requests.
    ...(trustsCallers && callerContext
      ? { parent: callerContext }
      : { isRoot: true, links: callerContext ? [callerContext] : [] }),
    attributes: {
      "server.address": "kubelet",
      "http.request.method": request.method ?? "",
      "http.route": route,
      "url.path": (request.url ?? "").split("?", 1)[0] ?? "",
      "network.protocol.version": request.httpVersion,
      ...(agent !== undefined && { "user_agent.original": agent }),
    },
  };
  let httpError: HttpError | undefined;
  await tracer.run(route, options, async (span) => {
    await work().catch((error) => {
      if (!(error instanceof HttpError)) throw error;
      httpError = error;
    });
    const status = httpError?.status ?? response.statusCode;
    span.set("http.response.status_code", status);
    // A rejected request is not a server error.
    if (status >= 500) span.fail(httpError?.message ?? `HTTP ${status}`);
  });
  if (httpError) throw httpError;
}
