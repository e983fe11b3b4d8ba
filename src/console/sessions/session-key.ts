import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { keyHeader, keyProtocol } from "../protocol.ts";

/**
 * The key of a session, from the header of a request or, because a page cannot set headers of a WebSocket, from a subprotocol that a
 * WebSocket offers. Browsers add neither on their own.
 */
export function keyOf(headers: IncomingHttpHeaders, isUpgrade: boolean): string | undefined {
  if (!isUpgrade) {
    const key = headers[keyHeader];
    return typeof key === "string" ? key : undefined;
  }
  return offered(headers)
    .find((name) => name.startsWith(keyProtocol))
    ?.slice(keyProtocol.length);
}

/** A WebSocket is passed on to the kubelet API, and may be to the runtime: without the key. */
export function removeKey({ headers }: IncomingMessage): void {
  headers["sec-websocket-protocol"] = offered(headers)
    .filter((name) => !name.startsWith(keyProtocol))
    .join(", ");
}

function offered(headers: IncomingHttpHeaders): string[] {
  return (headers["sec-websocket-protocol"] ?? "").split(",").map((name) => name.trim());
}
