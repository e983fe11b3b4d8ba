import type { TLSSocket } from "node:tls";

/**
 * Node.js lets its HTTP/1.1 parser read from TLS directly, and pauses it when a request arrives while the previous
 * response is still being sent. Data that TLS has already decrypted still goes to the paused parser, which treats it as
 * malformed and closes the connection. After a "data" listener was added once, the parser reads through the stream,
 * which buffers early data. Call it after the server's own connection listener; HTTP/2 has its own reader.
 */
export function bufferPipelinedData(socket: TLSSocket): void {
  if (socket.alpnProtocol === "h2") return;
  const listener = () => {};
  socket.on("data", listener).off("data", listener);
}
