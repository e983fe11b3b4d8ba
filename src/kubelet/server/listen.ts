import type { ListenOptions, Server } from "node:net";
import { type Clock, sleep } from "../../lib/base/clock.ts";
import { errnoOf } from "../../lib/base/errors.ts";
import type { Logger } from "../../lib/base/logger.ts";

/** The longest time that a stopping agent keeps the port. */
const portFreeWithinMs = 12_000;
const retryMs = 100;
/** Attempts are counted: the clock may be set in the meantime. */
const maxAttempts = 1 + portFreeWithinMs / retryMs;

/** Resolves when the server listens. A port in use is retried for a while: its owner may be stopping. */
export async function listen(
  server: Server,
  options: ListenOptions,
  { clock, logger, signal, name }: { clock: Clock; logger: Logger; signal: AbortSignal; name: string },
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await listenOnce(server, options);
    } catch (error) {
      if (errnoOf(error) !== "EADDRINUSE" || attempt >= maxAttempts) throw error;
      const { host, port } = options;
      if (attempt === 1) logger.info("Port is in use, waiting for it", { server: name, address: host, port });
    }
    await sleep(clock, retryMs, signal);
  }
}

function listenOnce(server: Server, options: ListenOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    // Not as the callback of listen(): Node.js keeps that listener after a failure.
    const end = (error?: Error) => {
      server.off("error", end).off("listening", end);
      if (error) reject(error);
      else resolve();
    };
    server.once("error", end).once("listening", end);
    server.listen(options);
  });
}
