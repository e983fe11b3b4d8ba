import { mkdir, rename, rm } from "node:fs/promises";
import type { ServerHttp2Stream } from "node:http2";
import { createServer, type Socket } from "node:net";
import { dirname, join } from "node:path";
import { Duplex } from "node:stream";
import { type Server, ServerCredentials } from "@grpc/grpc-js";
import { whenAborted } from "../../../lib/base/abort.ts";
import { KubeletError, messageOf } from "../../../lib/base/errors.ts";
import { AuthorityFilter } from "./authority-filter.ts";

/**
 * Serves gRPC on a unix socket until the signal. An existing file is replaced; there is never a socket without a
 * listener.
 */
export async function serveGrpc(server: Server, socketPath: string, signal: AbortSignal): Promise<void> {
  await mkdir(dirname(socketPath), { recursive: true, mode: 0o750 });
  endFailedStreams(server);
  const injector = server.createConnectionInjector(ServerCredentials.createInsecure());
  const sockets = new Set<Socket>();
  const listener = createServer((socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
    injector.injectConnection(filtered(socket));
  });
  // Socket paths are limited in length: the suffix is short.
  const temporary = join(dirname(socketPath), `.${process.pid}.s`);
  await rm(temporary, { force: true });
  await new Promise<void>((resolve, reject) => {
    listener.once("error", (error) =>
      reject(new KubeletError("GrpcSocket", `${socketPath}: ${messageOf(error)}`, { cause: error })),
    );
    // Only the owner may connect, even if the umask of the agent is 0. It is process-wide, and restored before another file is created.
    const umask = process.umask();
    process.umask(umask | 0o022);
    listener.listen(temporary, resolve);
    process.umask(umask);
  });
  // A later failure affects only one connection.
  listener.on("error", () => {});
  await rename(temporary, socketPath).catch((error: unknown) => {
    listener.close();
    throw new KubeletError("GrpcSocket", `${socketPath}: ${messageOf(error)}`, { cause: error });
  });
  const stop = () => {
    listener.close();
    injector.destroy();
    server.forceShutdown();
    for (const socket of sockets) socket.destroy();
  };
  whenAborted(signal, stop);
}

/**
 * grpc-js rejects a call of an unknown method even after its client has reset the stream. That throws in an event of Node.js, and would end the
 * process: here it ends the stream. Calls of known methods are not affected, grpc-js catches their exceptions.
 */
function endFailedStreams(server: Server): void {
  type Handler = (interceptors: unknown, stream: ServerHttp2Stream, headers: unknown) => void;
  const handlers = server as unknown as Record<"_streamHandler" | "_channelzHandler", Handler>;
  for (const name of ["_streamHandler", "_channelzHandler"] as const) {
    const handle = handlers[name];
    handlers[name] = (interceptors, stream, headers) => {
      try {
        handle.call(server, interceptors, stream, headers);
      } catch {
        stream.destroy();
      }
    };
  }
}

function filtered(socket: Socket): Duplex {
  const filter = new AuthorityFilter();
  const duplex = Duplex.from({ readable: filter, writable: socket });
  socket.pipe(filter);
  // If one of the two streams ends or fails, the other one is destroyed. A disconnected client is not an error.
  socket.on("error", () => duplex.destroy());
  socket.on("close", () => duplex.destroy());
  duplex.on("error", () => socket.destroy());
  duplex.on("close", () => socket.destroy());
  return duplex;
}
