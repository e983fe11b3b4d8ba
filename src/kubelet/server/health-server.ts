import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { whenAborted } from "../../lib/base/abort.ts";
import { type Clock, sleep } from "../../lib/base/clock.ts";
import { type Component, healthy } from "../../lib/base/component.ts";
import { limitConnections } from "../../lib/base/connections.ts";
import { messageOf } from "../../lib/base/errors.ts";
import type { Logger } from "../../lib/base/logger.ts";
import { checkReport, type HealthCheck, type HealthReport, healthReport } from "./health-report.ts";
import { listenOnce } from "./listen.ts";
import { requestUrl } from "./request-url.ts";

export interface HealthServerOptions {
  readonly address: string;
  /** 0 for any free port; negative for no server. */
  readonly port: number;
  /** Listed with ?verbose; they cannot fail the check. */
  readonly information?: () => readonly HealthCheck[];
  /** Notified of the result of each check when all of them are requested. */
  readonly onChecked?: (check: string, ok: boolean) => void;
  readonly logger: Logger;
  readonly clock: Clock;
}

const maxConnections = 100;
const retryMs = 5000;

/** A process that responds is healthy: monitors restart the kubelet if this fails, and a restart would not fix any other problem. */
const ping: HealthCheck = { name: "ping", health: () => healthy };

/** Serves /healthz on its own port, as soon as the port is free. The agent runs without it. */
export class HealthServer implements Component {
  readonly name = "healthz";
  readonly #o: HealthServerOptions;
  #server: Server | undefined;
  #done = Promise.withResolvers<void>();

  constructor(options: HealthServerOptions) {
    this.#o = options;
  }

  get done(): Promise<void> {
    return this.#done.promise;
  }

  /** The port that the server listens on, even when any free one was requested. */
  get port(): number | undefined {
    const address = this.#server?.address();
    return address && typeof address === "object" ? address.port : undefined;
  }

  async start(signal: AbortSignal): Promise<void> {
    if (this.#o.port < 0) return this.#done.resolve();
    const server = createServer((request, response) => this.#handle(request, response));
    server.requestTimeout = 10_000;
    // A client that reads no responses must not fail the checks of others: monitors would restart the kubelet.
    limitConnections(server, maxConnections, { closesBusy: true });
    if (!(await this.#listens(server))) this.#retry(server, signal).catch(() => server.close());
    whenAborted(signal, () => {
      if (!server.listening) return this.#done.resolve();
      server.close(() => this.#done.resolve());
      server.closeAllConnections();
    });
    this.#server = server;
  }

  async #listens(server: Server): Promise<boolean> {
    const { address, port, logger } = this.#o;
    try {
      await listenOnce(server, address, port);
      server.on("error", (error) => logger.error("Health server failed", { err: messageOf(error) }));
      return true;
    } catch (error) {
      logger.error("Failed to start healthz server, will retry", { address, port, err: messageOf(error) });
      return false;
    }
  }

  /** Rejects when the signal is aborted. */
  async #retry(server: Server, signal: AbortSignal): Promise<void> {
    do await sleep(this.#o.clock, retryMs, signal);
    while (!(await this.#listens(server)));
    signal.throwIfAborted();
  }

  #handle(request: IncomingMessage, response: ServerResponse): void {
    const url = requestUrl(request);
    if (url?.pathname === "/healthz") {
      const { information, onChecked } = this.#o;
      reply(
        response,
        healthReport([ping], url.searchParams, { information: information?.() ?? [], onChecked }),
      );
    } else if (url?.pathname === `/healthz/${ping.name}`) reply(response, checkReport(ping));
    else send(response, 404, "404 page not found\n");
  }
}

function reply(response: ServerResponse, { ok, text }: HealthReport): void {
  send(response, ok ? 200 : 500, text);
}

function send(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, {
    "content-type": "text/plain; charset=utf-8",
    "x-content-type-options": "nosniff",
  });
  response.end(body);
}
