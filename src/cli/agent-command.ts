import { startAgent } from "../kubelet/agent/agent.ts";
import { checkManifestsHandler } from "../kubelet/agent/applied-manifests.ts";
import { conflictingObjectSources } from "../kubelet/agent/local-objects.ts";
import { configuredTracing } from "../kubelet/agent/tracing.ts";
import { clusterAccessAsNode } from "../kubelet/certs/cluster-credentials.ts";
import { loadProviders } from "../kubelet/pods/images/providers/load-providers.ts";
import { watchdog } from "../kubelet/server/watchdog.ts";
import { type Clock, systemClock } from "../lib/base/clock.ts";
import { messageOf } from "../lib/base/errors.ts";
import { createLogger, type LogWriterOptions } from "../lib/base/log-writer.ts";
import type { Logger } from "../lib/base/logger.ts";
import { createMetrics } from "../lib/base/metrics.ts";
import type { FeatureGates } from "../lib/config/feature-gates.ts";
import { flagValues } from "../lib/config/flags/flag-values.ts";
import type { KubeletFlags } from "../lib/config/flags/kubelet-flags.ts";
import { loadConfiguration } from "../lib/config/load.ts";
import { nodeName as nodeNameOf } from "../lib/host/node-info.ts";
import { setOpenFileLimit } from "../lib/host/open-file-limit.ts";
import { releaseProgramPages } from "../lib/host/program-pages.ts";
import { type ServiceManager, serviceManager } from "../lib/host/sd-notify.ts";
import { logFaults } from "./faults.ts";
import { lockedBy } from "./lock-contention.ts";
import { logStreams } from "./log-streams.ts";
import { servedConsole } from "./served-console.ts";
import { untilSignal } from "./signals.ts";
import { version } from "./version.ts";

/** By then, most pods that ran before a restart have been taken over. */
const firstMs = 4000;

/** Pages in use are faulted in again within milliseconds of CPU time. */
const everyMs = 10 * 60_000;

/** The agent itself, with the flags of a kubelet. */
export async function agentCommand(args: readonly string[]): Promise<number> {
  const loaded = await loadConfiguration({ args });
  const { config } = loaded;
  const streams = logStreams({
    logging: config.logging,
    info: (text) => process.stdout.write(text),
    error: (text) => process.stderr.write(text),
    clock: systemClock,
  });
  process.on("exit", streams.flush);
  const logging: LogWriterOptions = {
    ...streams,
    format: config.logging.format === "json" ? "json" : "text",
    verbosity: config.logging.verbosity,
    vmodule: config.logging.vmodule,
    now: () => new Date(),
    pid: process.pid,
  };
  const logger = createLogger(logging);
  logFaults(logger);
  const manager = serviceManager(process.env, process.pid, logger);
  // The lock, or the approval of a certificate, may take longer than the service manager waits for a sign of life.
  const stopWatchdog = watchdog(manager, { clock: systemClock, logger, checks: [] });
  try {
    return await runAgent({ args, ...loaded, logging, logger, manager, onStarted: stopWatchdog });
  } finally {
    stopWatchdog();
  }
}

async function runAgent({
  args,
  config,
  flags,
  gates,
  warnings,
  logging,
  logger,
  manager,
  onStarted,
}: Awaited<ReturnType<typeof loadConfiguration>> & {
  readonly args: readonly string[];
  readonly logging: LogWriterOptions;
  readonly logger: Logger;
  readonly manager: ServiceManager;
  /** Called when the agent checks its own health. */
  readonly onStarted: () => void;
}): Promise<number> {
  for (const warning of warnings) logger.warn(warning);
  if (flags.localObjects !== "" && flags.kubeconfig !== "") throw conflictingObjectSources();
  if (flags.enableManifestsHandler) checkManifestsHandler(config);
  const lock = await lockedBy(flags, { logger, clock: systemClock });
  // Without CAP_SYS_RESOURCE, as in many containers, the limit cannot be raised. An operator need not act on this.
  await setOpenFileLimit(config.maxOpenFiles).catch((error: unknown) =>
    logger.info("Failed to set rlimit on max file handles", { err: messageOf(error) }),
  );
  const credentialProviders = await configuredProviders(flags, gates);
  // Registered before anything is started, so that an early signal is not lost.
  const signaled = untilSignal(["SIGTERM", "SIGINT"]);
  const stopping = new AbortController();
  void signaled.then(() => stopping.abort());
  const certificateUnavailable = Promise.withResolvers<string>();
  const metrics = createMetrics();
  const nodeName = nodeNameOf(flags.hostnameOverride);
  const tracing = configuredTracing({ config, nodeName, version, clock: systemClock, logger });
  const common = { config, metrics, clock: systemClock, logger };
  let cluster: Awaited<ReturnType<typeof clusterAccessAsNode>> | undefined;
  try {
    if (flags.kubeconfig !== "")
      cluster = await clusterAccessAsNode({
        ...common,
        flags,
        gates,
        kubeletVersion: version,
        tracer: tracing?.tracer,
        onCertificateUnavailable: certificateUnavailable.resolve,
        signal: stopping.signal,
      });
  } catch (error) {
    if (!stopping.signal.aborted) throw error;
    logger.info("Stopped before a client certificate was issued", { signal: await signaled });
    return 0;
  }
  const agent = await startAgent({
    ...common,
    cluster,
    tracing,
    credentialProviders,
    nodeFlags: flags,
    gates,
    rootDir: flags.rootDir,
    devicePluginDir: devicePluginDir(process.env),
    hostnameOverride: flags.hostnameOverride,
    nodeIp: flags.nodeIP,
    host: { keepsKernelTunables: flags.keepKernelTunables },
    deadContainers: {
      minAgeMs: flags.minimumContainerTTLDuration,
      maxPerContainer: flags.maximumDeadContainersPerContainer,
      maxContainers: flags.maximumDeadContainers,
    },
    maxParallelStarts: flags.maxParallelStarts,
    prefetchImages: flags.prefetchImages,
    imagePullEvents: flags.imagePullEvents,
    certDir: config.enableServer || config.serverTLSBootstrap ? flags.certDir : undefined,
    server:
      config.enableServer || config.readOnlyPort > 0
        ? {
            version,
            flags: flagValues(args),
            manifests: flags.enableManifestsHandler,
            heapSnapshots: flags.enableHeapSnapshots,
          }
        : undefined,
    identityFiles: { machineId: flags.machineIDFile, bootId: flags.bootIDFile },
    ...(flags.enableConsole &&
      config.enableServer && {
        console: await servedConsole({
          clock: systemClock,
          logger,
          linkCommand: `kubelet console --root-dir ${flags.rootDir}`,
        }),
      }),
    localObjects: flags.localObjects === "" ? undefined : flags.localObjects,
    setVerbosity: (level) => {
      logging.verbosity = level;
    },
    keepsApiPods: !cluster && flags.bootstrapKubeconfig !== "",
    serviceManager: manager,
    stopping: stopping.signal,
  }).catch((error: unknown) => {
    if (!stopping.signal.aborted) throw error;
    return undefined;
  });
  if (!agent) {
    cluster?.close();
    logger.info("Stopped before startup completed", { signal: await signaled });
    return 0;
  }
  onStarted();
  const stopTidying = tidyMemory(systemClock, logger);
  const reason = await Promise.race([
    signaled.then(() => undefined),
    lock.contention.then(() => undefined),
    certificateUnavailable.promise,
  ]);
  if (lock.isContended()) logger.info("Stopping kubelet on lock file contention, pods keep running");
  else if (reason === undefined)
    logger.info("Stopping kubelet, pods keep running", { signal: await signaled });
  else logger.error("Stopping kubelet, pods keep running", { reason });
  stopTidying();
  await agent.stop();
  cluster?.close();
  return reason === undefined ? 0 : 1;
}

/**
 * The path that plugins are built with, whatever the root directory is. Kubelets of tests must not share it: the variable is set for
 * them, and documented nowhere else.
 */
function devicePluginDir(env: NodeJS.ProcessEnv): string | undefined {
  return env.KUBELET_TS_DEVICE_PLUGINS === "root-dir" ? undefined : "/var/lib/kubelet/device-plugins";
}

/**
 * The credential provider plugins for registries, if any are configured. A configuration error is reported before
 * anything is started.
 */
async function configuredProviders(flags: KubeletFlags, gates: FeatureGates) {
  const { imageCredentialProviderConfig: configPath, imageCredentialProviderBinDir: binDir } = flags;
  if (configPath === "" && binDir === "") return undefined;
  return loadProviders(
    { configPath, binDir },
    { tokens: gates.enabled("KubeletServiceAccountTokenForCredentialProviders") },
  );
}

/** Releases what only startup and rare work need: pages of code, periodically. Returns the function that ends it. */
function tidyMemory(clock: Clock, logger: Logger): () => void {
  let stopped = false;
  const tidy = async () => {
    await releaseProgramPages().catch((error: unknown) =>
      logger.debug(2, "Failed to release memory pages", { err: messageOf(error) }),
    );
    if (!stopped) cancel = clock.after(everyMs, () => void tidy());
  };
  let cancel = clock.after(firstMs, () => void tidy());
  return () => {
    stopped = true;
    cancel();
  };
}
