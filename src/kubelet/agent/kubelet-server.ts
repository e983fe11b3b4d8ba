import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Component } from "../../lib/base/component.ts";
import type { Metrics } from "../../lib/base/metrics.ts";
import { encodeConfiguration } from "../../lib/config/encode.ts";
import { readCpuTopology } from "../../lib/host/cpu-topology.ts";
import { readProcessUsage } from "../../lib/host/process-usage.ts";
import { archOf } from "../../lib/host/system-identity.ts";
import { clientCaFile } from "../certs/certificate-files.ts";
import { effectiveTlsFiles, type ServingCertificate } from "../certs/serving-certificate.ts";
import { allowAll, nodeAccess } from "../server/auth/node-access.ts";
import { disabledRoutes } from "../server/debug/disabled.ts";
import { type DebugOptions, debugRoutes, openRoutes } from "../server/debug/routes.ts";
import type { HealthCheck } from "../server/health-report.ts";
import type { HealthSlis } from "../server/health-slis.ts";
import { AgentServer } from "../server/https/server.ts";
import { metricsRoutes } from "../server/metrics/routes.ts";
import { nodeLogs } from "../server/node-logs/node-logs.ts";
import type { Route } from "../server/route.ts";
import { readDisks, tmpfsPaths } from "../stats/disks.ts";
import type { Stats } from "../stats/stats.ts";
import type { AgentCore } from "./agent-core.ts";
import type { ConsoleServing } from "./console.ts";
import type { PodStreams } from "./pod-streams.ts";

export interface ServerParts {
  readonly version: string;
  /** Undefined without `enableServer`: only the read-only port is served. */
  readonly certificate: ServingCertificate | undefined;
  readonly explainer: DebugOptions["explainer"];
  readonly stats: Stats;
  readonly probeMetrics: Metrics;
  readonly slis: HealthSlis;
  readonly checks: () => readonly HealthCheck[];
  /** Routes for applied manifests; empty unless enabled. */
  readonly manifests: readonly Route[];
  readonly streams: PodStreams;
  /** The console on this port; undefined if it is off or has a port of its own. */
  readonly console: ConsoleServing | undefined;
}

export interface KubeletServer {
  readonly readOnly: Component | undefined;
  /** The components of the server for authorized clients, in the order in which they must be started. */
  readonly components: readonly Component[];
  readonly port: () => number;
}

/** The kubelet API: HTTPS for authorized clients, and the read-only port if it is configured. */
export async function kubeletServer(core: AgentCore, parts: ServerParts): Promise<KubeletServer> {
  const { config, node, clock, logger, metrics, options } = core;
  const { x509, webhook, anonymous } = config.authentication;
  const ca = x509.clientCAFile
    ? clientCaFile({
        file: x509.clientCAFile,
        reload: options.gates.enabled("ReloadKubeletClientCAFile"),
        clock,
        logger,
      })
    : undefined;
  const access = nodeAccess({
    nodeName: node.name,
    authentication: {
      anonymous: anonymous.enabled ?? false,
      webhook: webhook.enabled ?? true,
      cacheTtlMs: webhook.cacheTTL,
    },
    authorization: {
      mode: config.authorization.mode,
      allowedTtlMs: config.authorization.webhook.cacheAuthorizedTTL,
      deniedTtlMs: config.authorization.webhook.cacheUnauthorizedTTL,
    },
    clientCa: () => ca?.current(),
    readsUidOfCertificates: options.gates.enabled("AllowParsingUserUIDFromCertAuth"),
    ...(options.cluster && { transport: options.cluster.transport }),
    clock,
    logger,
    metrics,
  });
  const { open, all } = await routes(core, parts);
  const console = parts.console?.route(access);
  const common = { address: config.address, clock, logger, metrics };
  const { certificate } = parts;
  const { tracer } = core.tracing ?? {};
  const server =
    certificate &&
    new AgentServer({
      ...common,
      name: "kubelet-api",
      port: config.port,
      routes: [...all, ...(console ? [console] : [])],
      access,
      ...(tracer && { tracing: { tracer, trustsCallers: true } }),
      tls: { settings: config, certificate, ...(ca && { clientCa: ca }) },
    });
  const readOnly =
    config.readOnlyPort > 0
      ? new AgentServer({
          ...common,
          name: "kubelet-read-only-api",
          port: config.readOnlyPort,
          // Any client can read here, but not reset metrics that others rely on.
          routes: [...open.filter(({ method }) => method !== "DELETE"), ...disabledRoutes()],
          access: allowAll,
          ...(tracer && { tracing: { tracer, trustsCallers: false } }),
        })
      : undefined;
  return {
    readOnly,
    components: server ? [...(ca ? [ca] : []), server] : [],
    port: () => server?.port ?? config.port,
  };
}

async function routes(core: AgentCore, parts: ServerParts): Promise<{ open: Route[]; all: Route[] }> {
  const { config, clock, options, cri, desired, observed } = core;
  const gates = (name: string) => options.gates.enabled(name);
  const { statuses } = core;
  const debug: DebugOptions = {
    desired,
    observed,
    statuses,
    checks: parts.checks,
    onChecked: parts.slis.observe,
    configuration: () => encodeConfiguration({ ...config, ...effectiveTlsFiles(config, options.certDir) }),
    flags: () => options.server?.flags ?? {},
    version: parts.version,
    startedAt: clock.wall(),
    explainer: parts.explainer,
    setVerbosity: (level) => options.setVerbosity?.(level),
    runtime: cri,
    checkpointDir: async () => {
      const dir = join(options.rootDir, "checkpoints");
      await mkdir(dir, { recursive: true, mode: 0o700 });
      return dir;
    },
    gates: {
      containerCheckpoint: gates("ContainerCheckpoint"),
      statusz: gates("ComponentStatusz"),
      flagz: gates("ComponentFlagz"),
    },
    settings: {
      enableDebuggingHandlers: config.enableDebuggingHandlers ?? true,
      enableDebugFlagsHandler: config.enableDebugFlagsHandler ?? true,
      enableProfilingHandler: config.enableProfilingHandler ?? true,
      heapSnapshots: options.server?.heapSnapshots ?? false,
    },
    clock,
  };
  const open = [...openRoutes(debug), ...(await statistics(core, parts))];
  const closed = debug.settings.enableDebuggingHandlers
    ? [
        ...parts.streams.streaming,
        parts.streams.logs,
        nodeLogs({
          enabled: config.enableSystemLogHandler ?? true,
          queries: (config.enableSystemLogQuery ?? false) && gates("NodeLogQuery"),
          clock,
        }),
      ]
    : [];
  const others = [...open, ...closed, ...parts.manifests];
  return { open, all: [...others, ...debugRoutes(debug, others)] };
}

async function statistics(core: AgentCore, parts: ServerParts): Promise<Route[]> {
  const { node, clock, logger, metrics, options, cri } = core;
  const { bootedAt } = node;
  const { cores: physicalCores, sockets } = await readCpuTopology();
  const machine = {
    memoryBytes: Number(node.info.memoryCapacity),
    swapBytes: Number(node.info.swapCapacity),
  };
  // As the Go kubelet, those that are mounted when the kubelet starts.
  const tmpfs = tmpfsPaths(options.rootDir);
  return metricsRoutes({
    logger,
    metrics,
    probeMetrics: parts.probeMetrics,
    sliMetrics: parts.slis.metrics,
    stats: parts.stats,
    ...(options.gates.enabled("PodAndContainerStatsFromCRI") && { runtime: cri }),
    disks: () => readDisks(tmpfs),
    machine: { ...node.identity, ...machine, cpus: node.cpus, physicalCores, sockets },
    agent: {
      nodeName: node.name,
      cgroupVersion: node.info.cgroupVersion,
      build: { gitVersion: parts.version, platform: `linux/${archOf(process.arch)}` },
      features: options.gates.list?.() ?? [],
    },
    process: () => readProcessUsage(bootedAt),
    now: () => clock.wall(),
  });
}
