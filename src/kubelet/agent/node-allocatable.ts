import { readFile } from "node:fs/promises";
import type { CgroupLayout } from "../../lib/host/cgroups/mounted-cgroups.ts";
import { countRanges } from "../../lib/host/node-info.ts";
import { readTaskCounts } from "../../lib/host/process-limits.ts";
import type { Enforcement } from "../resources/cgroups/enforcement.ts";
import { parseRoot } from "../resources/cgroups/names.ts";
import { NodeAllocatable } from "../resources/cgroups/node-allocatable.ts";
import type { AgentCore } from "./agent-core.ts";
import type { AgentOptions } from "./agent-options.ts";

export function nodeAllocatable({
  config,
  node,
  nodeEvents,
  clock,
}: Pick<AgentCore, "config" | "node" | "nodeEvents" | "clock">): NodeAllocatable {
  return new NodeAllocatable({
    manager: node.cgroupManager,
    podsCgroup: config.cgroupsPerQOS ? [...parseRoot(config.cgroupRoot), "kubepods"] : undefined,
    enforcement: node.enforcement,
    events: nodeEvents,
    clock,
  });
}

export async function enforcementOf(
  { config, gates }: AgentOptions,
  host: {
    machine: { cpus: number; memoryBytes: bigint };
    layout: CgroupLayout;
    hugepageSizes: readonly string[];
  },
): Promise<Enforcement> {
  const { machine, layout, hugepageSizes } = host;
  const { max: tasks } = await readTaskCounts();
  const systemReserved = { ...config.systemReserved };
  const kubeReserved = { ...config.kubeReserved };
  const reservedCpus = countRanges(config.reservedSystemCPUs);
  if (reservedCpus > 0) {
    systemReserved.cpu = String(reservedCpus);
    delete kubeReserved.cpu;
  }
  return {
    levels: config.enforceNodeAllocatable,
    capacity: {
      cpu: String(machine.cpus),
      memory: String(machine.memoryBytes),
      ...(tasks !== undefined && { pid: String(tasks) }),
    },
    systemReserved,
    kubeReserved,
    systemReservedCgroup: config.systemReservedCgroup,
    kubeReservedCgroup: config.kubeReservedCgroup,
    memoryQos: gates.enabled("MemoryQoS") && layout.version === 2,
    hugepageSizes,
    cpus: layout.version === 2 ? await onlineCpus() : undefined,
  };
}

async function onlineCpus(): Promise<string | undefined> {
  const text = await readFile("/sys/devices/system/cpu/online", "utf8").catch(() => "");
  return text.trim() || undefined;
}
