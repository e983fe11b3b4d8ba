import type { IncomingMessage, ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import { whenAborted } from "../../lib/base/abort.ts";
import type { Clock } from "../../lib/base/clock.ts";
import { type Backend, type BackendRequest, openRequest, responseOf } from "./backend.ts";

/** The client's request and response, and the signal that cancels them. */
export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly signal: AbortSignal;
  readonly clock: Clock;
}

/**
 * Forwards a request and waits for the head of its response. If the client disconnects in the meantime, the request is
 * canceled. Rejects with the error of Node.js if there is no response.
 */
export async function sendRequest(
  backend: Backend,
  request: BackendRequest,
  exchange: Exchange,
  body?: IncomingMessage,
): Promise<IncomingMessage> {
  const outgoing = openRequest(backend, request, exchange.clock);
  const backendResponse = responseOf(outgoing);
  const stop = () => outgoing.destroy();
  exchange.response.once("close", stop);
  const aborted = whenAborted(exchange.signal, stop);
  backendResponse.finally(() => aborted[Symbol.dispose]()).catch(() => undefined);
  if (exchange.signal.aborted || exchange.response.destroyed) stop();
  else if (body === undefined) outgoing.end();
  // A backend may respond before it has read the whole request; the client may still be sending. So no pipeline().
  else body.pipe(outgoing);
  return await backendResponse;
}

/** Streams the body of a response. If the body is aborted, the client's response is aborted, too. */
export async function sendResponse(
  backendResponse: IncomingMessage,
  { response, signal }: Exchange,
): Promise<void> {
  response.flushHeaders();
  try {
    await pipeline(backendResponse, response, { signal });
  } catch {
    // One side disconnected, and the pipeline closed the other.
    backendResponse.destroy();
    response.destroy();
  }
}
