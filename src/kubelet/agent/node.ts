import { KubeletError } from "../../lib/base/errors.ts";
import type { WallTime } from "../../lib/base/time.ts";
import { configError } from "../../lib/config/problems.ts";
import { validateForHost } from "../../lib/config/validate/validate.ts";
import {
  type CgroupLayout,
  checkControllers,
  detectLayout,
  hasSwapAccounting,
  readHugepageSizes,
} from "../../lib/host/cgroups/mounted-cgroups.ts";
import { cgroupUsageReader } from "../../lib/host/cgroups/usage-reader.ts";
import type { ContainerLabels } from "../../lib/host/container-labels.ts";
import { readLogicalCpus } from "../../lib/host/machine-topology.ts";
import { countRanges, nodeAddresses, nodeName, readMachineInfo } from "../../lib/host/node-info.ts";
import { readNumaNodes, withoutNuma } from "../../lib/host/numa-nodes.ts";
import { readBootTime } from "../../lib/host/process-limits.ts";
import {
  defaultIdentityFiles,
  readSystemIdentity,
  type SystemIdentity,
} from "../../lib/host/system-identity.ts";
import { readThermalThrottlePaths } from "../../lib/host/thermal-throttle.ts";
import type { PodLevelManagers } from "../../lib/model/exclusive-cpus.ts";
import type { MachineTopology } from "../../lib/model/topology.ts";
import { excessReservations, planCapacity } from "../node/capacity.ts";
import { noDevices, readMachineSize } from "../node/machine-size.ts";
import { type NodeConfiguration, nodeConfiguration } from "../node/node-configuration.ts";
import { reservationsOf } from "../node/reservations.ts";
import type { NodeInfo, RuntimeSettings } from "../pipeline/pod-runtime/config/context.ts";
import type { CgroupManager } from "../resources/cgroups/cgroup-manager.ts";
import { timedCgroups } from "../resources/cgroups/cgroup-times.ts";
import { createCgroupManager } from "../resources/cgroups/create-cgroup-manager.ts";
import { type Enforcement, unreservedMemory } from "../resources/cgroups/enforcement.ts";
import type { LimitSettings } from "../resources/cgroups/limits.ts";
import { parseRoot } from "../resources/cgroups/names.ts";
import { createPodCgroups, type PodCgroups } from "../resources/cgroups/pod-cgroups.ts";
import type { AgentOptions } from "./agent-options.ts";
import { enforcementOf } from "./node-allocatable.ts";

/** The machine that the agent runs on. */
export interface Node {
  name: string;
  cpus: number;
  info: NodeInfo;
  containerLabels: ContainerLabels;
  settings: RuntimeSettings;
  cgroups: PodCgroups;
  cgroupManager: CgroupManager;
  /** The limits of pod and QoS cgroups. */
  limits: LimitSettings;
  enforcement: Enforcement;
  /** Configuration and flags about the node as part of a cluster. */
  configuration: NodeConfiguration;
  identity: SystemIdentity;
  layout: CgroupLayout;
  /** CPUs are read only if they can be reserved or exclusive. */
  topology: MachineTopology;
  /** The resources of the machine, without those of device plugins. */
  capacity: Readonly<Record<string, string>>;
  /** The reserved part of the capacity, in nano units by resource. */
  reserved: ReadonlyMap<string, bigint>;
  /** The boot time of the machine and the start time of the agent. */
  bootedAt: WallTime;
  startedAt: WallTime;
}

export async function readNode(o: AgentOptions): Promise<Node> {
  const { config, clock, logger } = o;
  const startedAt = clock.wall();
  const machine = await readMachineInfo();
  const layout = o.cgroupLayout ?? (await detectLayout());
  checkControllers(layout);
  const problems = validateForHost(config, { cgroupVersion: layout.version });
  if (problems.length > 0) throw configError(problems);
  const cgroups = await createCgroupManager(config.cgroupDriver, layout, clock);
  const manager = timedCgroups(cgroups, o.metrics, clock);
  if (o.createsCgroupRoot) await manager.create(parseRoot(config.cgroupRoot), {});
  const settings = runtimeSettings(o, layout.version);
  const hugepageSizes = await readHugepageSizes();
  const configuration = configurationOf(o);
  const size = {
    ...configuration.info,
    machine: await readMachineSize({ rootDir: o.rootDir, localStorage: configuration.info.localStorage }),
    devices: noDevices,
  };
  const numaNodes = await readNumaNodes(o.sysDir);
  const excess = excessReservations(size);
  if (excess.length > 0)
    throw new KubeletError(
      "InvalidReservation",
      `invalid Node Allocatable configuration. ${excess.join(" ")}`,
    );
  const { capacity, allocatable } = planCapacity(size, {});
  const enforcement = await enforcementOf(o, { machine, layout, hugepageSizes });
  const limits: LimitSettings = {
    cpuCfsQuota: settings.cpuCfsQuota,
    cpuCfsQuotaPeriodUs: settings.cpuCfsQuotaPeriodUs,
    noQuotaOnExclusiveCpus: settings.noQuotaOnExclusiveCpus,
    podLevelManagers: settings.podLevelManagers,
    podPidsLimit: BigInt(config.podPidsLimit ?? -1),
    podLevelResources: settings.gates.podLevelResources,
    memoryQos: settings.gates.memoryQos && layout.version === 2,
    memoryReservationPolicy: settings.memoryReservationPolicy,
    hugepageSizes,
    qosReserved: qosReservation(o, enforcement),
  };
  const usage = cgroupUsageReader(layout);
  return {
    name: nodeName(o.hostnameOverride),
    cpus: machine.cpus,
    configuration,
    identity: await readSystemIdentity(o.identityFiles ?? defaultIdentityFiles),
    layout,
    capacity,
    reserved: reservationsOf(size.reservations, capacity),
    topology: {
      cpus:
        config.cpuManagerPolicy === "static" || config.reservedSystemCPUs
          ? await readLogicalCpus(o.sysDir)
          : [],
      numaNodes: numaNodes.length > 0 ? numaNodes : await withoutNuma(machine.memoryBytes, o.sysDir),
    },
    bootedAt: await readBootTime(),
    startedAt,
    settings,
    containerLabels: machine.containerLabels,
    info: {
      hostIps: await nodeAddresses(o.nodeIp),
      memoryCapacity: machine.memoryBytes,
      swapCapacity: machine.swapBytes,
      allocatable,
      cgroupVersion: layout.version,
      swapAccounting: await hasSwapAccounting(layout),
      hugepageSizes,
      pageSize: machine.pageSize,
      selinux: machine.selinux,
      extraMaskedPaths: await readThermalThrottlePaths(),
    },
    cgroupManager: manager,
    limits,
    enforcement,
    cgroups: createPodCgroups({
      manager,
      cgroupsPerQos: config.cgroupsPerQOS ?? true,
      cgroupRoot: config.cgroupRoot,
      limits,
      memoryUsage: async (cgroup) => {
        const bytes = (await usage.read(cgroup, "memory"))?.memory?.usage;
        return bytes === undefined ? undefined : BigInt(bytes);
      },
      logger,
    }),
  };
}

function qosReservation(
  { config, gates }: AgentOptions,
  enforcement: Enforcement,
): LimitSettings["qosReserved"] {
  const share = config.qosReserved.memory;
  if (!gates.enabled("QOSReserved") || share === undefined) return undefined;
  return {
    memoryPercent: BigInt(Number.parseInt(share, 10)),
    allocatableMemory: unreservedMemory(enforcement),
  };
}

function configurationOf({ config, gates, nodeFlags, nodeIp }: AgentOptions): NodeConfiguration {
  const flags = {
    nodeLabels: nodeFlags?.nodeLabels ?? {},
    cloudProvider: nodeFlags?.cloudProvider ?? "",
    experimentalAllocatableIgnoreEviction: nodeFlags?.experimentalAllocatableIgnoreEviction ?? false,
    nodeIP: nodeIp ?? "",
  };
  return nodeConfiguration(config, flags, gates, countRanges(config.reservedSystemCPUs ?? ""));
}

/** Pods with pod-level resources are managed as a whole where the topology manager aligns pods. */
function podLevelManagers(
  { topologyManagerPolicy, topologyManagerScope }: AgentOptions["config"],
  gates: AgentOptions["gates"],
): PodLevelManagers {
  if (!gates.enabled("PodLevelResourceManagers")) return "off";
  return topologyManagerPolicy === "none" ? "container" : topologyManagerScope;
}

function runtimeSettings({ config, gates, rootDir }: AgentOptions, cgroupVersion: 1 | 2): RuntimeSettings {
  return {
    rootDir,
    podLogsDir: config.podLogsDir,
    cpuCfsQuota: config.cpuCFSQuota ?? true,
    cpuCfsQuotaPeriodUs: BigInt(Math.round((config.cpuCFSQuotaPeriod ?? 100) * 1000)),
    noQuotaOnExclusiveCpus:
      config.cpuManagerPolicy === "static" && gates.enabled("DisableCPUQuotaWithExclusiveCPUs"),
    podLevelManagers: podLevelManagers(config, gates),
    seccompDefault: config.seccompDefault ?? false,
    swapBehavior: config.memorySwap.swapBehavior === "LimitedSwap" ? "LimitedSwap" : "NoSwap",
    singleProcessOomKill: config.singleProcessOOMKill ?? cgroupVersion === 1,
    memoryThrottlingFactor: config.memoryThrottlingFactor ?? 0.9,
    memoryReservationPolicy: config.memoryReservationPolicy,
    gates: {
      podLevelResources: gates.enabled("PodLevelResources"),
      memoryQos: gates.enabled("MemoryQoS"),
      containerStopSignals: gates.enabled("ContainerStopSignals"),
      envFiles: gates.enabled("EnvFiles"),
    },
  };
}
