import { posix } from "node:path";
import { createGzip } from "node:zlib";
import type { Clock } from "../../../lib/base/clock.ts";
import { isAbort, messageOf } from "../../../lib/base/errors.ts";
import { HttpError } from "../http-error.ts";
import { responseWriter } from "../logs/response-writer.ts";
import { replyText } from "../replies.ts";
import type { Exchange, Route } from "../route.ts";
import { isNotFound, openEntry } from "./log-dir.ts";
import { checkLogQuery, invalid, joinProblems, parseLogQuery } from "./log-query.ts";
import { serveEntry } from "./serve-entry.ts";
import { ServiceLogs } from "./service-logs.ts";

export interface NodeLogsOptions {
  /** enableSystemLogHandler */
  readonly enabled: boolean;
  /** enableSystemLogQuery, with the feature gate NodeLogQuery. */
  readonly queries: boolean;
  /** Default "/var/log". */
  readonly dir?: string;
  readonly clock: Clock;
  /** Default "journalctl". */
  readonly journalctl?: string;
}

const path = "/logs/{path...}";
const attributes = () => ({ verb: "get", subresources: ["log"] });

/** `/logs/`: the files of the node's log directory, and with `?query=` the logs of its services. */
export function nodeLogs(options: NodeLogsOptions): Route {
  if (!options.enabled)
    return {
      method: "*",
      path,
      attributes,
      handle: async ({ response }) => replyText(response, 405, "logs endpoint is disabled.\n"),
    };
  const dir = options.dir ?? "/var/log";
  const services = new ServiceLogs({
    dir,
    command: options.journalctl ?? "journalctl",
    clock: options.clock,
  });
  return {
    method: "GET",
    path,
    attributes,
    async handle(exchange) {
      if (options.queries && (await serveQuery(exchange, dir, services))) return;
      await servePath(exchange, dir);
    },
  };
}

/** False if it is not a query. */
async function serveQuery(exchange: Exchange, dir: string, services: ServiceLogs): Promise<boolean> {
  const query = parseLogQuery(exchange.query);
  if (!query) return false;
  if ("problems" in query) throw new HttpError(400, `${joinProblems(query.problems)}\n`);
  if (exchange.params.path) throw new HttpError(406, "path not allowed in query mode\n");
  const problems = checkLogQuery(query);
  if (problems.length > 0) throw new HttpError(406, `${joinProblems(problems)}\n`);
  const [file] = query.files;
  if (file === undefined) await serveServices(exchange, services, query);
  else {
    const entry = await openEntry(dir, file).catch((error) => {
      throw new HttpError(406, `${invalid("query", query.files, whyNot(error))}\n`, { cause: error });
    });
    await serveEntry(exchange, entry);
  }
  return true;
}

function whyNot(error: unknown): string {
  return isNotFound(error) ? "no such file or directory" : messageOf(error);
}

async function serveServices(
  { request, response, signal }: Exchange,
  services: ServiceLogs,
  query: Parameters<ServiceLogs["copy"]>[0],
): Promise<void> {
  const release = services.acquire();
  const zip = request.headers["accept-encoding"] === "gzip" ? createGzip({ level: 1 }) : undefined;
  response.writeHead(200, {
    "content-type": "text/plain;charset=UTF-8",
    "x-content-type-options": "nosniff",
    ...(zip && { "content-encoding": "gzip" }),
  });
  zip?.pipe(response);
  const out = zip ?? response;
  const writer = responseWriter(out, signal);
  try {
    await services.copy(query, (bytes) => writer.write(bytes), signal);
    out.end();
  } catch (error) {
    zip?.destroy();
    response.destroy();
    if (!isAbort(error)) throw error;
  } finally {
    release();
  }
}

/** Serves a file, or lists a directory, as Go's file server does. Directories have a trailing slash. */
async function servePath(exchange: Exchange, dir: string): Promise<void> {
  const { params, request, response } = exchange;
  const requestedPath = params.path ?? "";
  const [rawPath = "", search] = (request.url ?? "").split("?", 2);
  const hasSlash = rawPath.endsWith("/");
  const redirect = (to: string) =>
    void response.writeHead(301, { location: search === undefined ? to : `${to}?${search}` }).end();
  const entry = await openEntry(dir, requestedPath).catch((error) => {
    if (isNotFound(error)) throw new HttpError(404, "404 page not found\n", { cause: error });
    throw new HttpError(403, "403 Forbidden\n", { cause: error });
  });
  const name = encodeURIComponent(posix.basename(requestedPath));
  if (entry.kind === "directory" && !hasSlash) return redirect(`${name}/`);
  if (entry.kind === "file" && hasSlash) {
    await entry.file.close();
    return redirect(`../${name}`);
  }
  await serveEntry(exchange, entry);
}
