import { type IncomingMessage, request as plainRequest } from "node:http";
import { request as tlsRequest } from "node:https";
import { isIP } from "node:net";
import { errnoOf, messageOf } from "../../../lib/base/errors.ts";
import { NameLookup } from "../../../lib/host/name-lookup.ts";
import { type HookRequest, hostPort, urlOf } from "./hook-request.ts";

const maxBodyBytes = 10 * 1024;
const maxRedirects = 10;
const redirects = new Set([301, 302, 303, 307, 308]);

/** The server does not speak TLS. It may speak HTTP. */
export class NotTlsError extends Error {}

/**
 * Sends the request of a hook. Any response is a success, regardless of its status: the hook was delivered. Redirects are
 * followed within the host, certificates are not checked.
 */
export async function httpGet(first: HookRequest, signal: AbortSignal): Promise<void> {
  let request = first;
  for (let sent = 1; ; sent++) {
    const fail = (why: string) => new Error(`Get ${JSON.stringify(urlOf(request))}: ${why}`);
    let received: HookResponse;
    try {
      received = await send(request, signal);
    } catch (error) {
      if (!isNotTls(error)) throw fail(reasonOf(error, request));
      throw new NotTlsError(fail("tls: first record does not look like a TLS handshake").message);
    }
    const next = redirected(request, received);
    if (!next || next.host !== first.host) return;
    if (sent >= maxRedirects) throw fail(`stopped after ${maxRedirects} redirects`);
    request = next;
  }
}

interface HookResponse {
  status: number;
  location: string | undefined;
}

function send(request: HookRequest, signal: AbortSignal): Promise<HookResponse> {
  const { scheme, host, port, path } = request;
  const names = new NameLookup();
  return new Promise<HookResponse>((resolve, reject) => {
    const options = {
      host,
      port,
      path,
      lookup: names.lookup,
      // As a flat list, so that names may repeat.
      headers: request.headers.flat(),
      agent: false as const,
      maxHeaderSize: 1024 * 1024,
      signal,
    };
    const onResponse = (response: IncomingMessage) => {
      const received = { status: response.statusCode ?? 0, location: response.headers.location };
      discard(response, () => resolve(received));
    };
    const outgoing =
      scheme === "https"
        ? tlsRequest(
            { ...options, rejectUnauthorized: false, servername: isIP(host) ? "" : host },
            onResponse,
          )
        : plainRequest(options, onResponse);
    // Any response is a success. Without a listener Node.js would report neither a response nor an error.
    outgoing.once("upgrade", ({ statusCode = 0 }, socket) => {
      socket.destroy();
      resolve({ status: statusCode, location: undefined });
    });
    outgoing.on("error", reject);
    outgoing.end();
  }).finally(() => names.cancel());
}

/** Reads a short body to its end, so that the server sees no broken connection; closes it on a long one. */
function discard(response: IncomingMessage, done: () => void): void {
  let left = maxBodyBytes;
  response.on("error", () => {});
  response.once("close", done);
  if (Number(response.headers["content-length"] ?? 0) > left) return void response.destroy();
  response.on("data", (chunk: Buffer) => {
    left -= chunk.length;
    if (left <= 0) response.destroy();
  });
}

function redirected(from: HookRequest, { status, location }: HookResponse): HookRequest | undefined {
  if (!redirects.has(status) || !location) return undefined;
  let url: URL;
  try {
    url = new URL(location, urlOf(from));
  } catch {
    throw new Error(`failed to parse Location header ${JSON.stringify(location)}`);
  }
  if (url.protocol !== "http:" && url.protocol !== "https:")
    throw new Error(
      `Get ${JSON.stringify(location)}: unsupported protocol scheme "${url.protocol.slice(0, -1)}"`,
    );
  const scheme = url.protocol === "https:" ? "https" : "http";
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const port = Number(url.port || (scheme === "https" ? 443 : 80));
  // The Host header of the hook is kept only if the location is relative.
  const absolute = /^([a-z][a-z0-9+.-]*:)?\/\//i.test(location);
  const headers = from.headers.map(([name, value]) =>
    absolute && name === "Host" ? ([name, hostPort(host, port)] as const) : ([name, value] as const),
  );
  return { scheme, host, port, path: url.pathname + url.search, headers };
}

/** The errors of OpenSSL for a response that starts with "HTTP/" instead of a TLS record. */
function isNotTls(error: unknown): boolean {
  return /wrong version number|packet length too long/.test(messageOf(error));
}

/** The error as Go prints it: users search for these messages. */
function reasonOf(error: unknown, { host, port }: HookRequest): string {
  const dial = (why: string) => `dial tcp ${hostPort(host, port)}: ${why}`;
  const code = errnoOf(error);
  // Its codes are those of the connection to the DNS server.
  if ((error as NodeJS.ErrnoException).syscall === "getaddrinfo")
    return `dial tcp: lookup ${host}: ${code === "ENOTFOUND" ? "no such host" : messageOf(error)}`;
  switch (code) {
    case "ECONNREFUSED":
      return dial("connect: connection refused");
    case "EHOSTUNREACH":
      return dial("connect: no route to host");
    case "ENETUNREACH":
      return dial("connect: network is unreachable");
    case "ETIMEDOUT":
      return dial("connect: connection timed out");
    case "ECONNRESET":
      return "EOF";
    default:
      return messageOf(error);
  }
}
