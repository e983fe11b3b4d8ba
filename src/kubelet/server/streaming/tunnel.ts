import type { Socket } from "node:net";
import { orAbort } from "../../../lib/base/abort.ts";
import type { Clock } from "../../../lib/base/clock.ts";
import { applyBackpressure } from "./backpressure.ts";
import { watchIdle } from "./idle-watch.ts";
import { WebSocketConnection } from "./websocket/connection.ts";

/** Tunnels a protocol between WebSocket messages and the raw connection to the runtime. Resolves when it has ended. */
export async function tunnel(o: {
  client: { socket: Socket; head: Buffer };
  runtime: { socket: Socket; head: Buffer };
  idleMs: number;
  clock: Clock;
  signal: AbortSignal;
}): Promise<void> {
  const { client, runtime, clock, idleMs, signal } = o;
  const over = Promise.withResolvers<void>();
  const ws = new WebSocketConnection(client.socket, {
    message: (data) => {
      if (data.length === 0 || !runtime.socket.writable) return;
      if (!runtime.socket.write(data)) applyBackpressure(client.socket, runtime.socket);
    },
    end: () => over.resolve(),
  });
  const fromRuntime = (chunk: Buffer) => {
    if (!ws.send(chunk)) applyBackpressure(runtime.socket, client.socket);
  };
  if (runtime.head.length > 0) fromRuntime(runtime.head);
  runtime.socket.on("data", fromRuntime);
  for (const event of ["end", "close", "error"] as const) runtime.socket.once(event, () => over.resolve());
  ws.start(client.head);
  const bytes = () => client.socket.bytesRead + runtime.socket.bytesRead;
  const stopWatching = watchIdle(clock, idleMs, bytes, () => over.resolve());
  await orAbort(over.promise, signal).catch(() => {});
  stopWatching();
  ws.close();
  runtime.socket.end();
  client.socket.resume();
  runtime.socket.resume();
  const cancelClose = clock.after(10_000, () => {
    client.socket.destroy();
    runtime.socket.destroy();
  });
  client.socket.once("finish", () => client.socket.destroySoon());
  runtime.socket.once("finish", () => runtime.socket.destroySoon());
  await Promise.all([client.socket, runtime.socket].map(closed));
  cancelClose();
}

function closed(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    if (socket.closed) resolve();
    else socket.once("close", () => resolve());
  });
}
