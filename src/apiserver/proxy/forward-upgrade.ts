import { type IncomingMessage, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { pipeline } from "node:stream/promises";
import { whenAborted } from "../../lib/base/abort.ts";
import type { Clock } from "../../lib/base/clock.ts";
import { joinStreams } from "../../lib/base/join-streams.ts";
import { StatusError } from "../status-error.ts";
import { type Backend, type BackendRequest, openRequest } from "./backend.ts";
import { responseHeaders } from "./forwarded-headers.ts";

export interface UpgradeExchange {
  readonly socket: Duplex;
  /** Data that the client has already sent after its request. */
  readonly head: Buffer;
  readonly signal: AbortSignal;
  readonly clock: Clock;
}

type UpgradeResponse =
  | {
      readonly upgraded: true;
      readonly message: IncomingMessage;
      readonly socket: Duplex;
      readonly head: Buffer;
    }
  | { readonly upgraded: false; readonly message: IncomingMessage };

const errorBodyTimeoutMs = 10_000;

/**
 * Requests a protocol upgrade from a backend; on success the two connections are joined. An error response is passed on as it
 * is. Rejects, with the client's connection untouched, if there is no response (with the error of Node.js) or an invalid one.
 */
export async function forwardUpgrade(
  backend: Backend,
  request: BackendRequest,
  exchange: UpgradeExchange,
): Promise<void> {
  const response = await sendRequest(backend, request, exchange);
  if (response.upgraded) {
    const { message, socket: backendSocket, head } = response;
    exchange.socket.write(statusLine(message, message.rawHeaders));
    if (head.length > 0) exchange.socket.write(head);
    if (exchange.head.length > 0) backendSocket.write(exchange.head);
    await joinStreams(exchange.socket, backendSocket, exchange.signal);
  } else {
    await passOnError(response.message, exchange);
  }
}

function sendRequest(
  backend: Backend,
  request: BackendRequest,
  exchange: UpgradeExchange,
): Promise<UpgradeResponse> {
  const { socket: client, signal, clock } = exchange;
  const outgoing = openRequest(backend, request, clock);
  const stop = () => outgoing.destroy();
  client.on("error", stop).once("close", stop);
  const aborted = whenAborted(signal, stop);
  const response = new Promise<UpgradeResponse>((resolve, reject) => {
    outgoing.once("upgrade", (message, socket, head) => resolve({ upgraded: true, message, socket, head }));
    outgoing.once("response", (message) => resolve({ upgraded: false, message }));
    outgoing.on("error", reject);
  });
  if (signal.aborted || client.destroyed) stop();
  else outgoing.end();
  return response.finally(() => {
    client.off("close", stop);
    aborted[Symbol.dispose]();
  });
}

async function passOnError(
  message: IncomingMessage,
  { socket, signal, clock }: UpgradeExchange,
): Promise<void> {
  const code = message.statusCode ?? 0;
  const { socket: backendSocket } = message;
  if (code < 400) {
    backendSocket.destroy();
    throw new StatusError(500, "", `invalid upgrade response: status code ${code}`);
  }
  const cancel = clock.after(errorBodyTimeoutMs, () => message.destroy());
  // The end of the connection is the end of the body, so its length does not matter.
  const headers = Object.entries(responseHeaders(message)).flatMap(([name, values]) =>
    values.flatMap((value) => [name, value]),
  );
  socket.write(statusLine(message, [...headers, "Connection", "close"]));
  try {
    await pipeline(message, socket, { signal });
  } catch {
    message.destroy();
    socket.destroy();
  } finally {
    cancel();
    // A request for an upgrade lets Node.js keep the connection alive, although no agent uses it again.
    backendSocket.destroy();
  }
}

function statusLine(message: IncomingMessage, rawHeaders: readonly string[]): Buffer {
  const code = message.statusCode ?? 0;
  const lines = [`HTTP/1.1 ${code} ${message.statusMessage || STATUS_CODES[code] || ""}`];
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) lines.push(`${rawHeaders[i]}: ${rawHeaders[i + 1]}`);
  return Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1");
}
