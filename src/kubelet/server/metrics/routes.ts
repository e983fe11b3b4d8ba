import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { messageOf } from "../../../lib/base/errors.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import type { Metrics } from "../../../lib/base/metrics.ts";
import { epochMs, type WallTime } from "../../../lib/base/time.ts";
import type { ProcessUsage } from "../../../lib/host/process-usage.ts";
import type { Summary } from "../../../lib/model/stats-summary.ts";
import type { CgroupRow } from "../../stats/cgroup-rows.ts";
import { replyText } from "../replies.ts";
import type { Exchange, Route } from "../route.ts";
import { containerFamilies } from "./container-families.ts";
import { exposition, type Family } from "./exposition.ts";
import { type Disks, deviceBytesFamily, filesystemFamilies } from "./filesystem-families.ts";
import { type AgentInfo, infoFamilies } from "./info-families.ts";
import { libraryFamilies } from "./library-families.ts";
import { type MachineInfo, machineFamilies, versionFamily } from "./machine-families.ts";
import { acceptsGzip, contentTypes, formatFor } from "./negotiate.ts";
import { processFamilies, startTimeFamily } from "./process-families.ts";
import { registryFamilies } from "./registry-families.ts";
import { resourceFamilies } from "./resource-families.ts";
import { type RuntimeMetrics, runtimeFamilies } from "./runtime-families.ts";
import { levelOf, type StabilityLevel, withLevels } from "./stability-levels.ts";
import { usageFamilies } from "./usage-families.ts";

const meta = ["registered_metrics_total", "disabled_metrics_total", "hidden_metrics_total"];

export interface MetricsRoutesOptions {
  readonly logger: Logger;
  /** The registry of the agent; probes have their own registry and path. */
  readonly metrics: Metrics;
  readonly probeMetrics: Metrics;
  /** The results of the health checks; reset on request. */
  readonly sliMetrics: Metrics;
  readonly stats: {
    summary(): Promise<Summary>;
    cpuAndMemory(): Promise<Summary>;
    /** The same; current CPU usage may be an average over a long time. */
    totals(): Promise<Summary>;
    /** A complete summary, with the same restriction. */
    storage(): Promise<Summary>;
    containers(): Promise<readonly CgroupRow[]>;
  };
  /** The source of container metrics with the gate PodAndContainerStatsFromCRI; absent: cgroups. */
  readonly runtime?: RuntimeMetrics;
  readonly disks: () => Promise<Disks>;
  readonly machine: MachineInfo;
  readonly agent: AgentInfo;
  readonly process: () => Promise<ProcessUsage>;
  readonly now: () => WallTime;
}

const zip = promisify(gzip);
const zipFrom = 1024;

/** /metrics, /metrics/cadvisor, /metrics/resource, /metrics/probes, /metrics/slis and /stats/summary. */
export function metricsRoutes(o: MetricsRoutesOptions): Route[] {
  const page = (path: string, families: () => Promise<Family[]>): Route => ({
    method: "GET",
    path,
    attributes: () => ({ verb: "get", subresources: ["metrics"] }),
    handle: async (exchange) => sendFamilies(exchange, await families(), await startTime()),
  });
  /** A part that fails is omitted and logged. */
  const part = async <T>(what: string, collect: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await collect();
    } catch (error) {
      o.logger.error("Failed to collect some metrics", { what, err: messageOf(error) });
      return undefined;
    }
  };
  /** When this process started. Clients use it to recognize a restart, after which counters start at 0. */
  const startTime = async () => (await part("process", () => o.process()))?.startedAt;
  const listed = async (what: string, collect: () => Promise<Family[]>) => (await part(what, collect)) ?? [];
  const registered = () =>
    [o.metrics, o.probeMetrics, o.sliMetrics].flatMap(({ registry }) =>
      registry.getMetricsAsArray().map(({ name }) => name),
    );
  const fromRuntime = o.runtime && runtimeFamilies(o.runtime);
  const fromCgroups = async () => {
    const rows = await part("containers", () => o.stats.containers());
    return [
      ...containerFamilies(rows),
      ...(await listed("disks", async () => {
        const disks = await o.disks();
        return [...filesystemFamilies(rows ?? [], disks, o.now()), deviceBytesFamily(rows ?? [], disks)];
      })),
      versionFamily(o.machine),
    ];
  };
  return [
    page("/metrics", async () => {
      // First: measuring volumes is itself counted.
      const usage = await listed("usage", async () => usageFamilies(await o.stats.storage()));
      const info = [...infoFamilies(o.agent), ...libraryFamilies()];
      return [
        ...withLevels([
          ...(await registryFamilies(o.metrics.registry)),
          ...info,
          ...metaFamilies([...registered(), ...info.map(({ name }) => name)]),
          ...usage,
        ]),
        ...(await listed("process", async () => processFamilies(await o.process()))),
      ];
    }),
    page("/metrics/cadvisor", async () => [
      ...(fromRuntime ? await listed("containers of the runtime", fromRuntime) : await fromCgroups()),
      ...machineFamilies(o.machine),
    ]),
    page("/metrics/resource", async () =>
      withLevels(resourceFamilies(await part("resources", () => o.stats.totals()))),
    ),
    ...(
      [
        ["/metrics/probes", o.probeMetrics],
        ["/metrics/slis", o.sliMetrics],
      ] as const
    ).map(([path, { registry }]) =>
      page(path, async () =>
        withLevels([
          ...(await registryFamilies(registry)),
          ...(await listed("process", async () => [startTimeFamily(await o.process())])),
        ]),
      ),
    ),
    resetRoute("/metrics/slis", o.sliMetrics),
    ...(["GET", "POST"] as const).map((method): Route => summaryRoute(method, o)),
  ];
}

/** Resets the counters, for cluster tests. */
function resetRoute(path: string, metrics: Metrics): Route {
  return {
    method: "DELETE",
    path,
    attributes: () => ({ verb: "delete", subresources: ["metrics"] }),
    async handle({ response }) {
      metrics.registry.resetMetrics();
      replyText(response, 200, "metrics reset\n");
    },
  };
}

function summaryRoute(method: "GET" | "POST", { stats, logger }: MetricsRoutesOptions): Route {
  return {
    method,
    path: "/stats/summary",
    attributes: () => ({ verb: method === "GET" ? "get" : "create", subresources: ["stats"] }),
    async handle(exchange) {
      const onlyCpuAndMemory = exchange.query.getAll("only_cpu_and_memory");
      const less = onlyCpuAndMemory.length === 1 && onlyCpuAndMemory[0] === "true";
      try {
        const summary = await (less ? stats.cpuAndMemory() : stats.summary());
        await send(
          exchange,
          200,
          { "content-type": "application/json" },
          JSON.stringify(summary, undefined, 1),
        );
      } catch (error) {
        logger.error("Failed to collect stats", { err: messageOf(error) });
        await send(
          exchange,
          500,
          { "content-type": "text/plain; charset=utf-8" },
          `Internal Error: ${messageOf(error)}`,
        );
      }
    },
  };
}

function sendFamilies(
  exchange: Exchange,
  families: readonly Family[],
  startedAt: WallTime | undefined,
): Promise<void> {
  const format = formatFor(exchange.request.headers.accept);
  const headers = {
    ...(startedAt !== undefined && { "process-start-time-unix": Math.floor(epochMs(startedAt) / 1000) }),
  };
  return send(
    exchange,
    200,
    { "content-type": contentTypes[format], ...headers },
    exposition(families, format),
  );
}

async function send(
  { request, response }: Exchange,
  status: number,
  headers: Readonly<Record<string, string | number>>,
  text: string,
): Promise<void> {
  if (response.headersSent || response.destroyed) return;
  const zipped = text.length >= zipFrom && acceptsGzip(String(request.headers["accept-encoding"] ?? ""));
  const body = zipped ? await zip(text, { level: 1 }) : Buffer.from(text);
  response.writeHead(status, {
    ...headers,
    "content-length": body.length,
    ...(zipped && { "content-encoding": "gzip" }),
  });
  response.end(body);
}

/** How many metrics are registered. None is deprecated, disabled or hidden here. */
function metaFamilies(registered: readonly string[]): Family[] {
  const counts = new Map<StabilityLevel, number>();
  for (const name of [...registered, ...meta]) {
    const level = levelOf(name);
    counts.set(level, (counts.get(level) ?? 0) + 1);
  }
  const none = [{ labels: {}, value: 0 }];
  return [
    {
      name: "registered_metrics_total",
      help: "The count of registered metrics broken by stability level and deprecation version.",
      type: "counter",
      samples: [...counts].map(([stability_level, value]) => ({
        labels: { deprecated_version: "", stability_level },
        value,
      })),
    },
    {
      name: "disabled_metrics_total",
      help: "The count of disabled metrics.",
      type: "counter",
      samples: none,
    },
    { name: "hidden_metrics_total", help: "The count of hidden metrics.", type: "counter", samples: none },
  ];
}
