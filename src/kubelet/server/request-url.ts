import type { IncomingMessage } from "node:http";

/** What is asked for. Undefined if the request line has no URL in it: anybody may send anything. */
export function requestUrl(request: IncomingMessage): URL | undefined {
  return URL.parse(request.url ?? "/", "http://localhost") ?? undefined;
}
