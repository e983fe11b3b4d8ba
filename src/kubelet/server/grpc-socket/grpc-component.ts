import type { Server } from "@grpc/grpc-js";
import { whenAborted } from "../../../lib/base/abort.ts";
import { type Component, type Health, healthy } from "../../../lib/base/component.ts";
import { messageOf } from "../../../lib/base/errors.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import { serveGrpc } from "./grpc-socket.ts";

/** A gRPC service on a unix socket. Pods run without it: a socket that cannot be created affects nothing else. */
export abstract class GrpcComponent implements Component {
  abstract readonly name: string;
  readonly #socketPath: string;
  readonly #logger: Logger;
  readonly #done = Promise.withResolvers<void>();
  #health: Health = healthy;

  constructor(socketPath: string, logger: Logger) {
    this.#socketPath = socketPath;
    this.#logger = logger;
  }

  protected abstract server(): Server;

  get done(): Promise<void> {
    return this.#done.promise;
  }

  health(): Health {
    return this.#health;
  }

  async start(signal: AbortSignal): Promise<void> {
    const fields = { service: this.name, socket: this.#socketPath };
    try {
      await serveGrpc(this.server(), this.#socketPath, signal);
      this.#logger.info("Serving gRPC endpoint", fields);
    } catch (error) {
      const reason = messageOf(error);
      this.#health = { ok: false, reason };
      this.#logger.error("Failed to serve gRPC endpoint", { ...fields, err: reason });
    }
    whenAborted(signal, this.#done.resolve);
  }
}
