import { startAgent } from "../app/agent.ts";
import { systemClock } from "../base/clock.ts";
import { createLogger } from "../base/log-writer.ts";
import { loadConfiguration } from "../config/load.ts";
import { serviceManager } from "../host/sd-notify.ts";
import { usage } from "./flags.ts";
import { untilSignal } from "./signals.ts";
import { version } from "./version.ts";

/** The agent itself, with the flags of a kubelet. */
export async function agentCommand(args: readonly string[]): Promise<number> {
  const { config, flags, gates, warnings } = await loadConfiguration({ args });
  if (flags.help) {
    process.stdout.write(usage());
    return 0;
  }
  if (flags.version === "true" || flags.version === "raw") {
    process.stdout.write(`Kubernetes ${version}\n`);
    return 0;
  }
  const logger = createLogger({
    format: config.logging.format === "json" ? "json" : "text",
    verbosity: config.logging.verbosity,
    write: (line) => process.stderr.write(line),
    now: () => new Date(),
    pid: process.pid,
  });
  for (const warning of warnings) logger.warn(warning);
  // Before anything is started: a signal that comes early must not be lost.
  const signalled = untilSignal(["SIGTERM", "SIGINT"]);
  const agent = await startAgent({
    config,
    gates,
    rootDir: flags.rootDir,
    hostnameOverride: flags.hostnameOverride,
    nodeIp: flags.nodeIP,
    deadContainers: {
      minAgeMs: flags.minimumContainerTTLDuration,
      maxPerContainer: flags.maximumDeadContainersPerContainer,
      maxContainers: flags.maximumDeadContainers,
    },
    maxParallelStarts: flags.maxParallelStarts,
    leavesApiPods: flags.kubeconfig !== "" || flags.bootstrapKubeconfig !== "",
    clock: systemClock,
    logger,
    serviceManager: serviceManager(process.env, process.pid, logger),
  });
  const signal = await signalled;
  logger.info("Stopping; pods run on", { signal });
  await agent.stop();
  return 0;
}
