import type { Clock } from "../../../lib/base/clock.ts";
import { isAbort, KubeletError, messageOf } from "../../../lib/base/errors.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import type { Pod, PodStatus } from "../../../lib/model/pod.ts";
import { replyText } from "../replies.ts";
import type { Exchange, Route } from "../route.ts";
import { chooseLogContainer, hasContainer } from "./log-container.ts";
import { parseLogQuery } from "./log-options.ts";
import { responseWriter } from "./response-writer.ts";
import { streamLog } from "./stream-log.ts";

/** A container with a log, as the runtime reports it. */
export interface LoggedContainer {
  readonly logPath: string;
  /** True as long as it may write more. */
  readonly running: boolean;
}

/** Queries to the rest of the agent. */
export interface LoggedPods {
  pod(namespace: string, name: string): Pod | undefined;
  status(pod: Pod): PodStatus | undefined;
  /** The container with this ID of the runtime, without a scheme. Undefined if the runtime no longer has it. */
  container(pod: Pod, id: string): LoggedContainer | undefined;
  /** Calls back when the observed pod changed or was removed; the returned function unsubscribes. */
  onChange(pod: Pod, listener: () => void): () => void;
}

export interface ContainerLogsOptions {
  readonly pods: LoggedPods;
  /** Feature gate PodLogsQuerySplitStreams. */
  readonly splitStreams: boolean;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** `GET /containerLogs/{namespace}/{pod}/{container}`: the request of `kubectl logs`. */
export function containerLogs(options: ContainerLogsOptions): Route {
  return {
    method: "GET",
    path: "/containerLogs/{namespace}/{pod}/{container}",
    attributes: () => ({ verb: "get", subresources: ["proxy"] }),
    handle: (exchange) => serveLog(exchange, options),
  };
}

async function serveLog(exchange: Exchange, options: ContainerLogsOptions): Promise<void> {
  const { response, signal } = exchange;
  const plan = planLog(exchange, options);
  if ("status" in plan) return replyText(response, plan.status, plan.message);
  const { pods, clock, logger } = options;
  const { pod, id, logPath, query } = plan;
  const writer = responseWriter(response, signal);
  const begin = () => {
    if (response.headersSent) return;
    response.writeHead(200, { "content-type": "text/plain; charset=utf-8" });
    // A follower gets the headers immediately.
    response.flushHeaders();
  };
  try {
    await streamLog(logPath, {
      ...query,
      follow: query.follow
        ? {
            isRunning: () => pods.container(pod, id)?.running ?? false,
            onChange: (listener) => pods.onChange(pod, listener),
          }
        : undefined,
      begin,
      write: (bytes) => writer.write(bytes),
      signal,
      clock,
    });
    begin();
    response.end();
  } catch (error) {
    if (isAbort(error)) return void response.destroy();
    logger.warn("Failed to read container log", {
      pod: pod.metadata.name,
      path: logPath,
      err: messageOf(error),
    });
    if (response.headersSent) return void response.destroy();
    const message = error instanceof KubeletError ? error.message : `failed to read log file "${logPath}"`;
    replyText(response, 400, message);
  }
}

function planLog({ params, query }: Exchange, { pods, splitStreams, clock }: ContainerLogsOptions) {
  const missing = ["pod", "container", "namespace"].find((name) => !params[name]);
  if (missing) return { status: 400, message: `{"message": "Missing ${missingNames[missing]}."}` };
  const { namespace = "", pod: podName = "", container = "" } = params;
  const logQuery = parseLogQuery(query, { now: clock.wall(), splitStreams });
  if ("status" in logQuery) return logQuery;
  const pod = pods.pod(namespace, podName);
  if (!pod) return { status: 404, message: `pod "${podName}" does not exist` };
  if (!hasContainer(pod, container))
    return { status: 404, message: `container "${container}" not found in pod "${podName}"` };
  const choice = chooseLogContainer(podName, pods.status(pod) ?? pod.status, container, logQuery.previous);
  if ("problem" in choice) return { status: 400, message: choice.problem };
  const id = choice.id.replace(/^[^:]*:\/\//, "");
  const found = pods.container(pod, id);
  if (!found?.logPath) return { status: 400, message: `unable to retrieve container logs for ${choice.id}` };
  return { pod, id, logPath: found.logPath, query: logQuery };
}

const missingNames: Record<string, string> = {
  pod: "podID",
  container: "container name",
  namespace: "podNamespace",
};
