import type { Component } from "../../lib/base/component.ts";
import { cgroupMembership } from "../../lib/host/cgroups/membership.ts";
import { cgroupFilesystem } from "../../lib/host/cgroups/mounted-cgroups.ts";
import { readOwnCgroup } from "../../lib/host/cgroups/own-cgroup.ts";
import { systemProcesses } from "../../lib/host/system-processes.ts";
import { pathOf, SystemCgroups } from "../resources/system-cgroups/system-cgroups.ts";
import type { AgentOptions } from "./agent-options.ts";
import type { Node } from "./node.ts";

/** Keeps the agent and system processes in the configured cgroups; empty if none are configured. */
export function systemCgroups({ config, clock, logger }: AgentOptions, { layout }: Node): Component[] {
  const { kubeletCgroups: kubelet, systemCgroups: system } = config;
  if (kubelet === "" && system === "") return [];
  const cgroups = cgroupFilesystem(layout, { clock });
  const host = { cgroups, membership: cgroupMembership(layout), processes: systemProcesses() };
  return [new SystemCgroups({ kubelet, system, ...host, clock, logger, pid: process.pid })];
}

export interface SystemCgroupPaths {
  readonly kubelet?: string;
  readonly runtime?: string;
  readonly misc?: string;
}

/** The current cgroups of system containers; without kubeletCgroups the agent is in the cgroup that it was started in. */
export async function systemCgroupPaths(
  { config, nodeFlags }: AgentOptions,
  { layout }: Node,
): Promise<SystemCgroupPaths> {
  const paths = {
    kubelet: pathOf(config.kubeletCgroups) ?? (await readOwnCgroup(layout.version)),
    runtime: pathOf(nodeFlags?.runtimeCgroups ?? ""),
    misc: pathOf(config.systemCgroups),
  };
  return Object.fromEntries(Object.entries(paths).filter(([, path]) => path !== undefined));
}
