import type { IncomingMessage } from "node:http";

/** The request target. Undefined if the request line has no URL in it: clients may send anything. */
export function requestUrl(request: IncomingMessage): URL | undefined {
  return URL.parse(request.url ?? "/", "http://localhost") ?? undefined;
}
