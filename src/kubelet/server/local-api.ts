import { mkdir, rm } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { dirname } from "node:path";
import { whenAborted } from "../../lib/base/abort.ts";
import type { Component, Health } from "../../lib/base/component.ts";
import { limitConnections } from "../../lib/base/connections.ts";
import { KubeletError, messageOf } from "../../lib/base/errors.ts";
import type { Logger } from "../../lib/base/logger.ts";
import type { Explainer } from "../explain/explain-node.ts";
import { allowAll } from "./auth/node-access.ts";
import { explainQueryOf } from "./explain-query.ts";
import { Dispatcher } from "./https/dispatcher.ts";
import { RouteTable } from "./https/route-table.ts";
import { requestUrl } from "./request-url.ts";
import type { Route } from "./route.ts";

export interface Overview {
  rows(): object[];
  runtime(): Health;
  onChange(listener: () => void): () => void;
}

export interface LocalApiOptions {
  socketPath: string;
  overview: Overview;
  explainer: Pick<Explainer, "explain">;
  logger: Logger;
  /** Additional routes: clients that can open the socket may use all of them. */
  routes?: readonly Route[];
}

const maxConnections = 500;

/** HTTP on a unix socket that only root can open: for `kubelet pods` and other commands that query the running agent. */
export class LocalApi implements Component {
  readonly name = "local-api";
  readonly #o: LocalApiOptions;
  readonly #others: Dispatcher;
  readonly #roots: ReadonlySet<string>;
  #done = Promise.withResolvers<void>();

  constructor(options: LocalApiOptions) {
    this.#o = options;
    const { routes = [], logger } = options;
    const table = new RouteTable(routes);
    this.#roots = new Set(table.paths.map((path) => path.split("/")[1] ?? ""));
    // Local requests are not part of the metrics.
    this.#others = new Dispatcher({ table, access: allowAll, metrics: { start: () => () => {} }, logger });
  }

  get done(): Promise<void> {
    return this.#done.promise;
  }

  async start(signal: AbortSignal): Promise<void> {
    const { socketPath, logger } = this.#o;
    await mkdir(dirname(socketPath), { recursive: true, mode: 0o750 });
    // The directory is locked (RootDirLock): an existing socket is from a killed agent.
    await rm(socketPath, { force: true }).catch((error: unknown) => {
      // A container runtime creates it for the missing source of a bind mount.
      if ((error as { code?: unknown }).code !== "ERR_FS_EISDIR") throw error;
      const problem = "is a directory, and the local API needs this path for its socket: remove it";
      throw new KubeletError("LocalApiSocket", `${socketPath}: ${problem}`, { cause: error });
    });
    const server: Server = createServer((request, response) => {
      try {
        this.#handle(request, response, signal);
      } catch (error) {
        this.#fail(request, response, error);
      }
    });
    limitConnections(server, maxConnections);
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      // The umask is process-wide: it is restored before any other file can be created.
      const umask = process.umask(0o177);
      server.listen(socketPath, resolve);
      process.umask(umask);
    });
    server.on("error", (error) => logger.error("Local API failed", { err: messageOf(error) }));
    whenAborted(signal, () => {
      server.close(() => this.#done.resolve());
      server.closeAllConnections();
    });
  }

  #handle(request: IncomingMessage, response: ServerResponse, end: AbortSignal): void {
    const url = requestUrl(request);
    if (url && this.#roots.has(url.pathname.split("/")[1] ?? "")) {
      void this.#others.serve(request, response, { stop: end });
      return;
    }
    if (request.method === "GET" && url?.pathname === "/explain")
      return this.#explain(url.searchParams, response);
    if (request.method !== "GET" || url?.pathname !== "/pods") {
      response.writeHead(404).end();
      return;
    }
    const body = () =>
      `${JSON.stringify({ runtime: this.#o.overview.runtime(), pods: this.#o.overview.rows() })}\n`;
    if (!url.searchParams.has("watch")) {
      response.writeHead(200, { "content-type": "application/json" }).end(body());
      return;
    }
    response.writeHead(200, { "content-type": "application/x-ndjson" });
    response.write(body());
    const update = () => {
      try {
        response.write(body());
      } catch (error) {
        this.#fail(request, response, error);
      }
    };
    let blocked = false;
    response.on("drain", () => {
      if (blocked) update();
      blocked = false;
    });
    const stop = this.#o.overview.onChange(() => {
      // A slow reader gets the newest state, not a queue of old ones.
      if (response.writableNeedDrain) blocked = true;
      else update();
    });
    response.on("close", stop);
  }

  /** A pod that cannot be shown must not stop the agent. */
  #fail(request: IncomingMessage, response: ServerResponse, error: unknown): void {
    this.#o.logger.error("Request to local API failed", { path: request.url, err: messageOf(error) });
    if (response.headersSent) response.destroy();
    else response.writeHead(500, { "content-type": "text/plain" }).end(`${messageOf(error)}\n`);
  }

  #explain(query: URLSearchParams, response: ServerResponse): void {
    const explanation = this.#o.explainer.explain(explainQueryOf(query));
    const json = { "content-type": "application/json" };
    response
      .writeHead(explanation === undefined ? 404 : 200, json)
      .end(`${JSON.stringify(explanation ?? {})}\n`);
  }
}
