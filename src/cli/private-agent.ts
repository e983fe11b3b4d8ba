import { createWriteStream } from "node:fs";
import { access } from "node:fs/promises";
import { join } from "node:path";
import { type Agent, type AgentOptions, startAgent } from "../kubelet/agent/agent.ts";
import { systemClock } from "../lib/base/clock.ts";
import { KubeletError } from "../lib/base/errors.ts";
import { createLogger, type LogWriterOptions } from "../lib/base/log-writer.ts";
import type { Logger } from "../lib/base/logger.ts";
import { withDefaults, withFileDefaults } from "../lib/config/defaults.ts";
import { FeatureGates } from "../lib/config/feature-gates.ts";
import type { KubeletConfiguration } from "../lib/config/kubelet-configuration.ts";
import { type LoadedConfiguration, loadConfiguration } from "../lib/config/load.ts";
import type { PrivateNode } from "../single-node/private-node.ts";
import { type Binaries, describeMissing, findRequirements } from "../single-node/requirements.ts";

/** The programs that a node of our own needs, or an error that names what is missing. */
export function requireBinaries(): Binaries {
  if (process.platform !== "linux")
    throw new KubeletError(
      "Platform",
      `a kubelet runs containers of Linux: it needs Linux, and this is ${process.platform}`,
    );
  if (process.getuid?.() !== 0)
    throw new KubeletError("Root", "running containers takes root: try again with sudo");
  const found = findRequirements();
  if (found.ok) return found.binaries;
  throw new KubeletError(
    "Missing",
    `missing on this machine:\n  ${describeMissing(found.missing).join("\n  ")}`,
  );
}

/** What the user of a private node wants of it: a file of a KubeletConfiguration, or nothing in particular. */
export async function chosenConfiguration(
  file: string | undefined,
): Promise<Pick<LoadedConfiguration, "config" | "gates" | "warnings">> {
  if (file !== undefined) return await loadConfiguration({ args: ["--config", file] });
  const gates = new FeatureGates({});
  return { config: withDefaults(withFileDefaults({}), gates), gates, warnings: [] };
}

/** The same with all that makes the node private: where things are, and what this machine and our images need. */
export async function privateConfiguration(
  node: PrivateNode,
  chosen: KubeletConfiguration,
): Promise<KubeletConfiguration> {
  const config = structuredClone(chosen);
  config.staticPodPath = node.files.manifests;
  config.podLogsDir = node.files.podLogs;
  config.containerRuntimeEndpoint = node.endpoint;
  config.cgroupRoot = node.cgroupRoot;
  config.failCgroupV1 = false;
  config.serializeImagePulls = false;
  // The images are ours, made for this node: a host that is full is no reason to remove them.
  config.imageGCHighThresholdPercent = 100;
  const hasResolvConf = await access("/etc/resolv.conf").then(
    () => true,
    () => false,
  );
  if (!hasResolvConf) config.resolvConf = "";
  return config;
}

/** An agent that runs its pods on a private node. Its log goes to a file beside the pods' logs. */
export async function startPrivateAgent(
  node: PrivateNode,
  logger: Logger,
  more: Partial<AgentOptions> = {},
): Promise<Agent> {
  const { config, gates } = await chosenConfiguration(undefined);
  return startAgent({
    config: await privateConfiguration(node, config),
    gates,
    rootDir: node.files.kubelet,
    // The root folder goes with the node; what was applied is there for the next start.
    appliedDir: node.files.applied,
    containerLogsDir: node.files.containerLogs,
    createsCgroupRoot: true,
    isSingleNode: true,
    healthPort: 0,
    clock: systemClock,
    logger,
    ...more,
  });
}

export function fileLogger(dir: string): {
  logger: Logger;
  path: string;
  setVerbosity: (level: number) => void;
} {
  const path = join(dir, "kubelet.log");
  const stream = createWriteStream(path, { flags: "a" });
  const write = (line: string) => void stream.write(line);
  const options: LogWriterOptions = {
    ...{ format: "text", verbosity: 2, write, now: () => new Date(), pid: process.pid },
  };
  return {
    path,
    logger: createLogger(options),
    setVerbosity: (level) => {
      options.verbosity = level;
    },
  };
}
