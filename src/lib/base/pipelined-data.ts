import type { TLSSocket } from "node:tls";

/**
 * Node lets its HTTP/1.1 parser read from TLS directly, and pauses it when a request arrives while the previous
 * response is still being sent. What TLS has decrypted already goes to the paused parser anyway, which treats it as
 * broken and closes the connection. A listener for data, once there was one, makes the parser read through the stream,
 * which buffers early data. To be called after the server itself has seen the connection; HTTP/2 has its own reader.
 */
export function bufferPipelinedData(socket: TLSSocket): void {
  if (socket.alpnProtocol === "h2") return;
  const listener = () => {};
  socket.on("data", listener).off("data", listener);
}
