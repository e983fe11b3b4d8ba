import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { type Clock, systemClock } from "../../lib/base/clock.ts";
import type { Component, Health } from "../../lib/base/component.ts";
import { limitConnections } from "../../lib/base/connections.ts";
import { KubeletError, messageOf } from "../../lib/base/errors.ts";
import type { Logger } from "../../lib/base/logger.ts";
import { whenAborted } from "../../lib/base/when-aborted.ts";
import { listen } from "./listen.ts";
import { requestUrl } from "./request-url.ts";

export interface HealthCheck {
  name: string;
  health(): Health;
}

export interface HealthServerOptions {
  address: string;
  /** 0 for any free port; negative for no server. */
  port: number;
  checks: () => readonly HealthCheck[];
  /** Listed with ?verbose; they cannot fail the check. */
  information?: () => readonly HealthCheck[];
  /** Notified of the result of each check when all of them are requested. */
  onChecked?: (check: string, ok: boolean) => void;
  logger: Logger;
  clock?: Clock;
}

const maxConnections = 100;

/** Serves /healthz and /healthz/<check> on its own port, with `ok` or the error. */
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
    const { address, port, logger, clock = systemClock } = this.#o;
    if (port < 0) return this.#done.resolve();
    const server = createServer((request, response) => this.#handle(request, response));
    server.requestTimeout = 10_000;
    limitConnections(server, maxConnections);
    await listen(server, { host: address, port }, { clock, logger, signal, name: this.name }).catch(
      (error) => {
        const message = `health server on ${address}:${port}: ${messageOf(error)}`;
        throw new KubeletError("Healthz", message, { cause: error });
      },
    );
    server.on("error", (error) => logger.error("Health server failed", { err: messageOf(error) }));
    server.on("close", () => this.#done.resolve());
    const close = () => {
      server.close();
      server.closeAllConnections();
    };
    whenAborted(signal, close);
    this.#server = server;
  }

  #handle(request: IncomingMessage, response: ServerResponse): void {
    const url = requestUrl(request);
    const name = /^\/healthz(?:\/([\w-]+))?\/?$/.exec(url?.pathname ?? "");
    const all = this.#o.checks();
    const checks = name?.[1] ? all.filter((c) => c.name === name[1]) : all;
    if (!url || !name || (name[1] && checks.length === 0))
      return reply(response, 404, "404 page not found\n");
    if (request.method !== "GET" && request.method !== "HEAD")
      return reply(response, 405, "Method Not Allowed\n");
    const results = checks.map((c) => ({ name: c.name, health: runCheck(c) }));
    if (!name[1]) for (const { name, health } of results) this.#o.onChecked?.(name, health.ok);
    const ok = results.every((r) => r.health.ok);
    const lines = results.map(({ name, health }) =>
      health.ok
        ? `[+]${name} ok${health.note ? ` (${health.note})` : ""}`
        : `[-]${name} failed: ${health.reason}`,
    );
    if (url.searchParams.has("verbose") && !name[1]) lines.push(...this.#information());
    if (!ok) return reply(response, 500, `${lines.join("\n")}\nhealthz check failed\n`);
    if (url.searchParams.has("verbose"))
      return reply(response, 200, `${lines.join("\n")}\nhealthz check passed\n`);
    reply(response, 200, "ok");
  }

  #information(): string[] {
    return (this.#o.information?.() ?? []).map((component) => {
      const health = runCheck(component);
      return `[i]${component.name} ${health.ok ? "ok" : `not healthy: ${health.reason}`}`;
    });
  }
}

/** A check that throws has failed. */
function runCheck(check: HealthCheck): Health {
  try {
    return check.health();
  } catch (error) {
    return { ok: false, reason: messageOf(error) };
  }
}

function reply(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, {
    "content-type": "text/plain; charset=utf-8",
    "x-content-type-options": "nosniff",
  });
  response.end(body);
}
