import { request as httpRequest, type IncomingMessage, type OutgoingHttpHeaders } from "node:http";
import { request as httpsRequest } from "node:https";
import { connect, type Socket } from "node:net";
import { whenAborted } from "../../../lib/base/abort.ts";
import type { Clock } from "../../../lib/base/clock.ts";
import { abortError, isAbort, KubeletError, messageOf } from "../../../lib/base/errors.ts";
import { hasGrpcCode } from "../../../lib/clients/cri/cri-error.ts";
import { HttpError } from "../http-error.ts";

export type RuntimeResponse =
  | {
      readonly kind: "upgraded";
      readonly message: IncomingMessage;
      readonly socket: Socket;
      readonly head: Buffer;
    }
  | { readonly kind: "rejected"; readonly message: IncomingMessage };

const responseTimeoutMs = 30_000;

/** Requests a protocol upgrade from the runtime's streaming server. Rejects if there is no response in time. */
export function upgradeToRuntime(o: {
  url: URL;
  method: string;
  headers: OutgoingHttpHeaders;
  signal: AbortSignal;
  clock: Clock;
}): Promise<RuntimeResponse> {
  const { url, method, headers, signal, clock } = o;
  const secure = url.protocol === "https:";
  const options = {
    method,
    host: url.hostname.replace(/^\[|\]$/g, ""),
    port: url.port || (secure ? 443 : 80),
    path: `${url.pathname}${url.search}`,
    headers: { ...headers, host: url.host },
    agent: false as const,
  };
  const outgoing = secure
    ? httpsRequest(options)
    : httpRequest({
        ...options,
        // One side may have finished while the other still sends.
        createConnection: () =>
          connect({ host: options.host, port: Number(options.port), allowHalfOpen: true }),
      });
  return new Promise<RuntimeResponse>((resolve, reject) => {
    const cancel = clock.after(responseTimeoutMs, () =>
      outgoing.destroy(new KubeletError("Streaming", "the runtime's streaming server does not respond")),
    );
    const over = () => {
      cancel();
      aborted[Symbol.dispose]();
    };
    outgoing.once("upgrade", (message, socket, head) => {
      over();
      socket.setNoDelay(true);
      socket.on("error", () => {});
      resolve({ kind: "upgraded", message, socket, head });
    });
    outgoing.once("response", (message) => {
      // The deadline also covers the body of the error.
      message.once("close", over);
      resolve({ kind: "rejected", message });
    });
    outgoing.on("error", (error) => {
      over();
      reject(error);
    });
    const aborted = whenAborted(signal, () => outgoing.destroy(abortError(signal.reason)));
    if (!signal.aborted) outgoing.end();
  });
}

/** The URL of the streaming server as the runtime returned it. */
export function streamingUrl(text: string): URL {
  const url = URL.parse(text);
  if (url?.protocol === "http:" || url?.protocol === "https:") return url;
  throw new HttpError(500, "the runtime returned an invalid URL of its streaming server\n");
}

/** The useful part of the message of an error response. */
export async function errorText(message: IncomingMessage): Promise<string> {
  let text = "";
  try {
    for await (const chunk of message.setEncoding("utf8")) {
      text += chunk;
      if (text.length > 64 * 1024) break;
    }
  } catch {
    // Use the part that was received.
  }
  return text;
}

/** The error for callers when the runtime returned no URL. */
export function runtimeError(error: unknown): unknown {
  if (error instanceof HttpError || isAbort(error)) return error;
  if (hasGrpcCode(error, "NOT_FOUND")) return new HttpError(404, messageOf(error), { cause: error });
  if (hasGrpcCode(error, "RESOURCE_EXHAUSTED"))
    return new HttpError(429, messageOf(error), { cause: error, headers: { "retry-after": "5" } });
  return new HttpError(500, messageOf(error), { cause: error });
}
