import type { IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders } from "node:http";
import type { ServerHttp2Stream } from "node:http2";

/** Hop-by-hop headers. */
const hopByHop = new Set([
  "connection",
  "expect",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

const corsHeaders = new Set(
  ["credentials", "headers", "methods", "origin"].map((each) => `access-control-allow-${each}`),
);

/** Headers that authenticate or impersonate a user. */
const isIdentityHeader = (name: string) =>
  name === "authorization" || name.startsWith("impersonate-") || name.startsWith("x-remote-");

const tokenProtocol = "base64url.bearer.authorization.k8s.io.";

/** The headers of a forwarded request: all except those for the API server itself. */
export function requestHeaders(request: IncomingMessage, upgrade: boolean): OutgoingHttpHeaders {
  const headers = Object.create(null) as Record<string, string[]>;
  const dropped = namesInConnectionHeader(request.headers);
  for (const [name, values] of distinct(request)) {
    if (!hopByHop.has(name) && !dropped.has(name) && !isIdentityHeader(name)) headers[name] = values;
  }
  const host = requestHost(request);
  if (host !== undefined) headers.host = [host];
  const { socket } = request;
  if (socket.remoteAddress)
    headers["x-forwarded-for"] = [[...(headers["x-forwarded-for"] ?? []), socket.remoteAddress].join(", ")];
  const chunked = request.headers["transfer-encoding"] !== undefined || isHttp2WithBody(request);
  // Set explicitly: otherwise Node.js would decide by the method whether there is a body.
  if (chunked) headers["transfer-encoding"] = ["chunked"];
  else if (request.method !== "GET" && request.method !== "HEAD") headers["content-length"] ??= ["0"];
  if (upgrade) {
    headers.connection = ["Upgrade"];
    headers.upgrade = [request.headers.upgrade ?? ""];
    removeToken(headers);
  }
  return headers;
}

/** The requested host; HTTP/2 has a separate field for it. */
export function requestHost({ headers }: IncomingMessage): string | undefined {
  return headers.host ?? (headers[":authority"] as string | undefined);
}

/** Returns the values of each header, like `headersDistinct`, which HTTP/2 requests lack. Pseudo-headers are dropped. */
function distinct({ rawHeaders }: IncomingMessage): Map<string, string[]> {
  const headers = new Map<string, string[]>();
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!.toLowerCase();
    if (name.startsWith(":")) continue;
    const values = headers.get(name);
    if (values) values.push(rawHeaders[i + 1]!);
    else headers.set(name, [rawHeaders[i + 1]!]);
  }
  return headers;
}

/** HTTP/2 needs neither a length nor chunks; only the end of the stream marks an empty body. */
function isHttp2WithBody(request: IncomingMessage): boolean {
  if (request.httpVersionMajor < 2 || request.headers["content-length"] !== undefined) return false;
  const { stream } = request as { readonly stream?: ServerHttp2Stream };
  return stream?.endAfterHeaders !== true;
}

/** Browsers send their token as a WebSocket subprotocol. */
function removeToken(headers: Record<string, string[]>): void {
  const given = headers["sec-websocket-protocol"];
  if (given === undefined) return;
  const protocols = given.flatMap((line) => line.split(",")).map((protocol) => protocol.trim());
  const forwarded = protocols.filter((protocol) => !protocol.startsWith(tokenProtocol));
  if (forwarded.length === 0) delete headers["sec-websocket-protocol"];
  else headers["sec-websocket-protocol"] = [forwarded.join(", ")];
}

/** The response headers that are forwarded to the client. */
export function responseHeaders(backendResponse: IncomingMessage): Record<string, string[]> {
  const headers: Record<string, string[]> = {};
  const dropped = namesInConnectionHeader(backendResponse.headers);
  for (const [name, values = []] of Object.entries(backendResponse.headersDistinct)) {
    if (!hopByHop.has(name) && !corsHeaders.has(name) && !dropped.has(name)) headers[name] = values;
  }
  return headers;
}

/** The names in the Connection header, except the length: without the length, the end of the body is unknown, and the rest would be another request. */
function namesInConnectionHeader(headers: IncomingHttpHeaders): ReadonlySet<string> {
  const names = new Set((headers.connection ?? "").split(",").map((name) => name.trim().toLowerCase()));
  names.delete("content-length");
  return names;
}
