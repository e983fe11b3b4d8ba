import type { TLSSocket } from "node:tls";

/**
 * Node lets its HTTP/1.1 parser read from TLS directly, and pauses it when a request comes while the answer before is still
 * being sent. What TLS has decrypted already goes to the paused parser all the same, which takes it for broken and cuts the
 * connection. A listener for data, once there was one, makes the parser read through the stream, which keeps what is early.
 * To be called when the server itself has heard of the connection; HTTP/2 has its own reader.
 */
export function readInTurn(socket: TLSSocket): void {
  if (socket.alpnProtocol === "h2") return;
  const listener = () => {};
  socket.on("data", listener).off("data", listener);
}
