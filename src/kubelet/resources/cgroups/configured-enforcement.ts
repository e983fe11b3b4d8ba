import { readFile } from "node:fs/promises";
import type { KubeletConfiguration } from "../../../lib/config/kubelet-configuration.ts";
import type { CgroupLayout } from "../../../lib/host/cgroups/mounted-cgroups.ts";
import { countRanges } from "../../../lib/host/node-info.ts";
import { readTaskCounts } from "../../../lib/host/process-limits.ts";
import type { Enforcement } from "./enforcement.ts";

/** The meaning of `enforceNodeAllocatable` and the reservations on this machine. */
export async function configuredEnforcement(
  config: KubeletConfiguration,
  host: {
    machine: { cpus: number; memoryBytes: bigint };
    layout: CgroupLayout;
    hugepageSizes: readonly string[];
    /** The MemoryQoS gate. */
    memoryQos: boolean;
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
    memoryQos: host.memoryQos && layout.version === 2,
    hugepageSizes,
    cpus: layout.version === 2 ? await onlineCpus() : undefined,
  };
}

async function onlineCpus(): Promise<string | undefined> {
  const text = await readFile("/sys/devices/system/cpu/online", "utf8").catch(() => "");
  return text.trim() || undefined;
}
