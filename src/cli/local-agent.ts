import { openSync, writeSync } from "node:fs";
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
import { reachableResolvConf } from "../lib/host/resolver-file.ts";
import type { LocalNode } from "../single-node/local-node.ts";
import { type Binaries, describeMissing, findRequirements } from "../single-node/requirements.ts";

/** The programs that a local node needs; throws an error that lists the missing ones. */
export function requireBinaries(): Binaries {
  if (process.getuid?.() !== 0) throw new KubeletError("Root", "must be run as root: try again with sudo");
  const found = findRequirements();
  if (found.ok) return found.binaries;
  throw new KubeletError(
    "Missing",
    `missing on this machine:\n  ${describeMissing(found.missing).join("\n  ")}`,
  );
}

/** The user's KubeletConfiguration for a local node: a file, or the defaults. */
export async function userConfiguration(
  file: string | undefined,
): Promise<Pick<LoadedConfiguration, "config" | "gates" | "warnings">> {
  if (file !== undefined) return await loadConfiguration({ args: ["--config", file] });
  const gates = new FeatureGates({});
  return { config: withDefaults(withFileDefaults({}), gates), gates, warnings: [] };
}

/** Adds the settings of a local node to a configuration: its directories, its runtime, and what this machine requires. */
export async function localNodeConfiguration(
  node: LocalNode,
  base: KubeletConfiguration,
): Promise<KubeletConfiguration> {
  const config = structuredClone(base);
  config.staticPodPath = node.files.manifests;
  config.podLogsDir = node.files.podLogs;
  config.volumePluginDir = join(node.files.kubelet, "volume-plugins");
  config.containerRuntimeEndpoint = node.endpoint;
  config.cgroupRoot = node.cgroupRoot;
  config.failCgroupV1 = false;
  config.serializeImagePulls = false;
  // The images were built for this node and cannot be pulled again: they are kept even if the host's disk is full.
  config.imageGCHighThresholdPercent = 100;
  config.resolvConf = config.resolvConf && (await reachableResolvConf(config.resolvConf));
  return config;
}

/** An agent that runs its pods on a local node. */
export async function startLocalAgent(
  node: LocalNode,
  logger: Logger,
  more: Partial<AgentOptions> = {},
): Promise<Agent> {
  const { config, gates } = await userConfiguration(undefined);
  return startAgent({
    config: await localNodeConfiguration(node, config),
    gates,
    rootDir: node.files.kubelet,
    // The root directory is removed with the node; applied manifests are kept for the next start.
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
  const file = openSync(path, "a", 0o600);
  const write = (line: string) => {
    try {
      writeSync(file, line);
    } catch {
      // The disk is full: the line is lost, and the agent goes on.
    }
  };
  const options: LogWriterOptions = {
    format: "text",
    verbosity: 2,
    write,
    now: () => new Date(),
    pid: process.pid,
  };
  return {
    path,
    logger: createLogger(options),
    setVerbosity: (level) => {
      options.verbosity = level;
    },
  };
}
