import { KubeletError } from "../../lib/base/errors.ts";
import type { WallTime } from "../../lib/base/time.ts";
import type { KubeletConfiguration } from "../../lib/config/kubelet-configuration.ts";
import { configError } from "../../lib/config/problems.ts";
import { validateForHost } from "../../lib/config/validate/validate.ts";
import {
  type CgroupLayout,
  checkControllers,
  detectLayout,
  hasSwapAccounting,
  readHugepageSizes,
} from "../../lib/host/cgroups/mounted-cgroups.ts";
import type { ContainerLabels } from "../../lib/host/container-labels.ts";
import { readLogicalCpus } from "../../lib/host/machine-topology.ts";
import { nodeAddresses, nodeName, readMachineInfo } from "../../lib/host/node-info.ts";
import { readNumaNodes, withoutNuma } from "../../lib/host/numa-nodes.ts";
import { readBootTime } from "../../lib/host/process-limits.ts";
import {
  defaultIdentityFiles,
  type IdentityFiles,
  readSystemIdentity,
  type SystemIdentity,
} from "../../lib/host/system-identity.ts";
import { readThermalThrottlePaths } from "../../lib/host/thermal-throttle.ts";
import type { MachineTopology } from "../../lib/model/topology.ts";
import type { NodeInfo } from "../pipeline/pod-runtime/config/context.ts";
import { excessReservations, planCapacity } from "./capacity.ts";
import { noDevices, readMachineSize } from "./machine-size.ts";
import type { NodeConfiguration } from "./node-configuration.ts";
import { reservationsOf } from "./reservations.ts";

/** Facts about the machine, read once. */
export interface Machine {
  name: string;
  cpus: number;
  info: NodeInfo;
  containerLabels: ContainerLabels;
  identity: SystemIdentity;
  layout: CgroupLayout;
  /** CPUs are read only if they can be reserved or exclusive. */
  topology: MachineTopology;
  /** The resources of the machine, without the resources of device plugins. */
  capacity: Readonly<Record<string, string>>;
  /** The reserved part of the capacity, in nano units by resource. */
  reserved: ReadonlyMap<string, bigint>;
  bootedAt: WallTime;
}

/** The cgroups of the machine, unless they are known; throws if the agent cannot use them as configured. */
export async function readLayout(
  config: KubeletConfiguration,
  known: CgroupLayout | undefined,
): Promise<CgroupLayout> {
  const layout = known ?? (await detectLayout());
  checkControllers(layout);
  const problems = validateForHost(config, { cgroupVersion: layout.version });
  if (problems.length > 0) throw configError(problems);
  return layout;
}

export async function readMachine(o: {
  readonly config: KubeletConfiguration;
  readonly configuration: NodeConfiguration;
  readonly layout: CgroupLayout;
  readonly rootDir: string;
  readonly hostnameOverride?: string | undefined;
  readonly nodeIp?: string | undefined;
  readonly identityFiles?: IdentityFiles | undefined;
  readonly sysDir?: string | undefined;
}): Promise<Machine> {
  const { config, layout, sysDir } = o;
  const { info } = o.configuration;
  const machine = await readMachineInfo();
  const size = {
    ...info,
    machine: await readMachineSize({ rootDir: o.rootDir, localStorage: info.localStorage }),
    devices: noDevices,
  };
  const excess = excessReservations(size);
  if (excess.length > 0)
    throw new KubeletError(
      "InvalidReservation",
      `invalid Node Allocatable configuration. ${excess.join(" ")}`,
    );
  const { capacity, allocatable } = planCapacity(size, {});
  const numaNodes = await readNumaNodes(sysDir);
  const usesCpus = config.cpuManagerPolicy === "static" || config.reservedSystemCPUs;
  return {
    name: nodeName(o.hostnameOverride),
    cpus: machine.cpus,
    identity: await readSystemIdentity(o.identityFiles ?? defaultIdentityFiles),
    layout,
    capacity,
    reserved: reservationsOf(size.reservations, capacity),
    topology: {
      cpus: usesCpus ? await readLogicalCpus(sysDir) : [],
      numaNodes: numaNodes.length > 0 ? numaNodes : await withoutNuma(machine.memoryBytes, sysDir),
    },
    bootedAt: await readBootTime(),
    containerLabels: machine.containerLabels,
    info: {
      hostIps: await nodeAddresses(o.nodeIp),
      memoryCapacity: machine.memoryBytes,
      swapCapacity: machine.swapBytes,
      allocatable,
      cgroupVersion: layout.version,
      swapAccounting: await hasSwapAccounting(layout),
      hugepageSizes: await readHugepageSizes(),
      pageSize: machine.pageSize,
      selinux: machine.selinux,
      extraMaskedPaths: await readThermalThrottlePaths(),
    },
  };
}
