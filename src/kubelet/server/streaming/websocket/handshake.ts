import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { HttpError } from "../../http-error.ts";

const guid = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

export function isWebSocket(request: IncomingMessage): boolean {
  const connection = (request.headers.connection ?? "").toLowerCase();
  return connection.includes("upgrade") && request.headers.upgrade?.toLowerCase() === "websocket";
}

/** The protocols that the client offers, preferred first. */
export function offeredProtocols(request: IncomingMessage): string[] {
  return (request.headers["sec-websocket-protocol"] ?? "")
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
}

/** Throws a 400 if the request is not a valid WebSocket handshake: call it before anything is started for it. */
export function checkHandshake(request: IncomingMessage): void {
  if (request.method !== "GET") throw new HttpError(405, "a WebSocket handshake must be a GET request\n");
  if (request.headers["sec-websocket-version"] !== "13")
    throw new HttpError(400, "unsupported version of WebSocket\n", {
      headers: { "sec-websocket-version": "13" },
    });
  const key = request.headers["sec-websocket-key"] ?? "";
  if (!/^[A-Za-z0-9+/]{22}==$/.test(key))
    throw new HttpError(400, "Sec-WebSocket-Key is missing or invalid\n");
}

/** The handshake response. */
export function handshake(request: IncomingMessage, protocol: string | undefined): string {
  const key = request.headers["sec-websocket-key"] ?? "";
  const accept = createHash("sha1")
    .update(key + guid)
    .digest("base64");
  const lines = [
    "HTTP/1.1 101 Switching Protocols",
    "Upgrade: websocket",
    "Connection: Upgrade",
    `Sec-WebSocket-Accept: ${accept}`,
    ...(protocol === undefined ? [] : [`Sec-WebSocket-Protocol: ${protocol}`]),
  ];
  return `${lines.join("\r\n")}\r\n\r\n`;
}
