import { type IncomingMessage, request as plainRequest } from "node:http";
import { request as tlsRequest } from "node:https";
import { isIP } from "node:net";
import { errnoOf, messageOf } from "../../../lib/base/errors.ts";
import { type HookRequest, hostPort, urlOf } from "./hook-request.ts";

const mostBodyBytes = 10 * 1024;
const mostRedirects = 10;
const redirects = new Set([301, 302, 303, 307, 308]);

/** The server was asked with TLS and does not speak it. It may well speak HTTP. */
export class NotTlsError extends Error {}

/**
 * Sends the request of a hook. Any answer is a success, whatever its status: the hook was delivered. Redirects are
 * followed within the host, certificates are not checked.
 */
export async function httpGet(first: HookRequest, signal: AbortSignal): Promise<void> {
  let request = first;
  for (let sent = 1; ; sent++) {
    const fail = (why: string) => new Error(`Get ${JSON.stringify(urlOf(request))}: ${why}`);
    let answer: Answer;
    try {
      answer = await send(request, signal);
    } catch (error) {
      if (!isNotTls(error)) throw fail(reasonOf(error, request));
      throw new NotTlsError(fail("tls: first record does not look like a TLS handshake").message);
    }
    const next = redirected(request, answer);
    if (!next || next.host !== first.host) return;
    if (sent >= mostRedirects) throw fail(`stopped after ${mostRedirects} redirects`);
    request = next;
  }
}

interface Answer {
  status: number;
  location: string | undefined;
}

function send(request: HookRequest, signal: AbortSignal): Promise<Answer> {
  const { scheme, host, port, path } = request;
  return new Promise((resolve, reject) => {
    const options = {
      host,
      port,
      path,
      // As a flat list, so that a name may stand there twice.
      headers: request.headers.flat(),
      agent: false as const,
      maxHeaderSize: 1024 * 1024,
      signal,
    };
    const onAnswer = (response: IncomingMessage) => {
      const answer = { status: response.statusCode ?? 0, location: response.headers.location };
      discard(response, () => resolve(answer));
    };
    const outgoing =
      scheme === "https"
        ? tlsRequest({ ...options, rejectUnauthorized: false, servername: isIP(host) ? "" : host }, onAnswer)
        : plainRequest(options, onAnswer);
    outgoing.on("error", reject);
    outgoing.end();
  });
}

/** Reads a short body to its end, so that the server does not see its connection break; a long one it does. */
function discard(response: IncomingMessage, done: () => void): void {
  let left = mostBodyBytes;
  response.on("error", () => {});
  response.once("close", done);
  if (Number(response.headers["content-length"] ?? 0) > left) return void response.destroy();
  response.on("data", (chunk: Buffer) => {
    left -= chunk.length;
    if (left <= 0) response.destroy();
  });
}

function redirected(from: HookRequest, { status, location }: Answer): HookRequest | undefined {
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
  // A host header that was asked for goes along only if the answer names no host itself.
  const absolute = /^([a-z][a-z0-9+.-]*:)?\/\//i.test(location);
  const headers = from.headers.map(([name, value]) =>
    absolute && name === "Host" ? ([name, hostPort(host, port)] as const) : ([name, value] as const),
  );
  return { scheme, host, port, path: url.pathname + url.search, headers };
}

/** OpenSSL says so when the answer begins with "HTTP/" where a TLS record should begin. */
function isNotTls(error: unknown): boolean {
  return /wrong version number|packet length too long/.test(messageOf(error));
}

/** In the words that people who know a kubelet search for. */
function reasonOf(error: unknown, { host, port }: HookRequest): string {
  const dial = (why: string) => `dial tcp ${hostPort(host, port)}: ${why}`;
  switch (errnoOf(error)) {
    case "ECONNREFUSED":
      return dial("connect: connection refused");
    case "EHOSTUNREACH":
      return dial("connect: no route to host");
    case "ENETUNREACH":
      return dial("connect: network is unreachable");
    case "ETIMEDOUT":
      return dial("connect: connection timed out");
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return `dial tcp: lookup ${host}: no such host`;
    case "ECONNRESET":
      return "EOF";
    default:
      return messageOf(error);
  }
}
