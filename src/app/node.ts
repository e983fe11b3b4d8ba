import { KubeletError } from "../base/errors.ts";
import { cgroupDriver, detectLayout, hasSwapAccounting, readHugepageSizes } from "../host/cgroups/index.ts";
import { nodeAddresses, nodeName, readMachineFacts } from "../host/node-facts.ts";
import { readThermalThrottlePaths } from "../host/thermal-throttle.ts";
import type { NodeFacts, RuntimeSettings } from "../pipeline/pod-runtime/config/context.ts";
import { rootLimits } from "../resources/cgroups/limits.ts";
import { createPodCgroups, type PodCgroups } from "../resources/cgroups/pod-cgroups.ts";
import type { AgentOptions } from "./agent.ts";

/** What the agent knows of the machine that it runs on. */
export interface Node {
  name: string;
  cpus: number;
  facts: NodeFacts;
  settings: RuntimeSettings;
  cgroups: PodCgroups;
}

export async function readNode(o: AgentOptions): Promise<Node> {
  const { config, clock, logger } = o;
  const machine = await readMachineFacts();
  const layout = await detectLayout();
  if (layout.version === 1 && config.failCgroupV1)
    throw new KubeletError(
      "CgroupV1",
      "this host has cgroup v1; set failCgroupV1: false to run on it all the same",
    );
  const driver = cgroupDriver(layout, { clock });
  if (o.makesCgroupRoot) await driver.create(config.cgroupRoot, {});
  const settings = runtimeSettings(o, layout.version);
  const hugepageSizes = await readHugepageSizes();
  const allocatable = { cpu: String(machine.cpus), memory: String(machine.memoryBytes) };
  return {
    name: nodeName(o.hostnameOverride),
    cpus: machine.cpus,
    settings,
    facts: {
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
    cgroups: createPodCgroups({
      driver,
      naming: config.cgroupDriver,
      cgroupsPerQos: config.cgroupsPerQOS ?? true,
      cgroupRoot: config.cgroupRoot,
      limits: {
        cpuCfsQuota: settings.cpuCfsQuota,
        cpuCfsQuotaPeriodUs: settings.cpuCfsQuotaPeriodUs,
        podPidsLimit: BigInt(config.podPidsLimit ?? -1),
        podLevelResources: settings.gates.podLevelResources,
        memoryQos: settings.gates.memoryQos && layout.version === 2,
        memoryReservationPolicy: settings.memoryReservationPolicy,
        hugepageSizes,
      },
      root: (config.enforceNodeAllocatable ?? []).includes("pods") ? rootLimits(allocatable) : undefined,
      logger,
    }),
  };
}

function runtimeSettings({ config, gates, rootDir }: AgentOptions, cgroupVersion: 1 | 2): RuntimeSettings {
  return {
    rootDir,
    podLogsDir: config.podLogsDir,
    cpuCfsQuota: config.cpuCFSQuota ?? true,
    cpuCfsQuotaPeriodUs: BigInt(Math.round((config.cpuCFSQuotaPeriod ?? 100) * 1000)),
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
