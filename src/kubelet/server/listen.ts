import type { Server } from "node:net";
import { type Clock, sleep } from "../../lib/base/clock.ts";
import { errnoOf } from "../../lib/base/errors.ts";
import { isUnspecified } from "../../lib/base/ip-address.ts";
import type { Logger } from "../../lib/base/logger.ts";

/** The longest time that a stopping agent keeps the port. */
const portFreeWithinMs = 12_000;
const retryMs = 100;
/** Attempts are counted: the clock may be set in the meantime. */
const maxAttempts = 1 + portFreeWithinMs / retryMs;

export interface ListenOptions {
  readonly address: string;
  /** 0: any free port. */
  readonly port: number;
  readonly backlog?: number;
  readonly name: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/** Resolves when the server listens. A port in use is retried for a while: its owner may be stopping. */
export async function listen(server: Server, o: ListenOptions): Promise<void> {
  const { address, port, clock, logger, signal, name } = o;
  for (let attempt = 1; ; attempt++) {
    try {
      return await listenOnce(server, address, port, o.backlog);
    } catch (error) {
      if (errnoOf(error) !== "EADDRINUSE" || attempt >= maxAttempts) throw error;
      if (attempt === 1) logger.info("Port is in use, waiting for it", { server: name, address, port });
    }
    await sleep(clock, retryMs, signal);
  }
}

/**
 * The unspecified address, 0.0.0.0 or ::, is both of IPv4 and IPv6, as in Go: without a host Node.js listens on both, or on IPv4 only if the
 * kernel has no IPv6.
 */
export function listenOnce(server: Server, address: string, port: number, backlog?: number): Promise<void> {
  return new Promise((resolve, reject) => {
    // A callback of listen() would not do: Node.js keeps that listener after a failure.
    const end = (error?: Error) => {
      server.off("error", end).off("listening", end);
      if (error) reject(error);
      else resolve();
    };
    server.once("error", end).once("listening", end);
    server.listen({ port, ...(!isUnspecified(address) && { host: address }), ...(backlog && { backlog }) });
  });
}
