import type { WallTime } from "../../lib/base/time.ts";
import { cgroupUsageReader } from "../../lib/host/cgroups/usage-reader.ts";
import { countRanges } from "../../lib/host/node-info.ts";
import { type Machine, readLayout, readMachine } from "../node/machine.ts";
import { type NodeConfiguration, nodeConfiguration } from "../node/node-configuration.ts";
import { runtimeSettings } from "../node/runtime-settings.ts";
import type { RuntimeSettings } from "../pipeline/pod-runtime/config/context.ts";
import type { CgroupManager } from "../resources/cgroups/cgroup-manager.ts";
import { timedCgroups } from "../resources/cgroups/cgroup-times.ts";
import { configuredEnforcement } from "../resources/cgroups/configured-enforcement.ts";
import { createCgroupManager } from "../resources/cgroups/create-cgroup-manager.ts";
import { type Enforcement, reservedForQos } from "../resources/cgroups/enforcement.ts";
import type { LimitSettings } from "../resources/cgroups/limits.ts";
import { parseRoot } from "../resources/cgroups/names.ts";
import { createPodCgroups, type PodCgroups } from "../resources/cgroups/pod-cgroups.ts";
import type { AgentOptions } from "./agent-options.ts";

/** The machine that the agent runs on, its settings, and the cgroups of its pods. */
export interface Node extends Machine {
  settings: RuntimeSettings;
  cgroups: PodCgroups;
  cgroupManager: CgroupManager;
  /** The limits of pod and QoS cgroups. */
  limits: LimitSettings;
  enforcement: Enforcement;
  /** Configuration and flags about the node as part of a cluster. */
  configuration: NodeConfiguration;
  /** The start time of the agent. */
  startedAt: WallTime;
}

export async function readNode(o: AgentOptions): Promise<Node> {
  const { config, clock, logger, gates, nodeFlags } = o;
  const startedAt = clock.wall();
  const layout = await readLayout(config, o.cgroupLayout);
  const cgroups = await createCgroupManager(config.cgroupDriver, layout, clock);
  const manager = timedCgroups(cgroups, o.metrics, clock);
  if (o.createsCgroupRoot) await manager.create(parseRoot(config.cgroupRoot), {});
  const flags = {
    nodeLabels: nodeFlags?.nodeLabels ?? {},
    cloudProvider: nodeFlags?.cloudProvider ?? "",
    experimentalAllocatableIgnoreEviction: nodeFlags?.experimentalAllocatableIgnoreEviction ?? false,
    nodeIP: o.nodeIp ?? "",
  };
  const configuration = nodeConfiguration(config, flags, gates, countRanges(config.reservedSystemCPUs ?? ""));
  const machine = await readMachine({ ...o, layout, configuration });
  const settings = runtimeSettings(o, layout.version);
  const { hugepageSizes } = machine.info;
  const enforcement = await configuredEnforcement(config, {
    machine: { cpus: machine.cpus, memoryBytes: machine.info.memoryCapacity },
    layout,
    hugepageSizes,
    memoryQos: gates.enabled("MemoryQoS"),
  });
  const usage = cgroupUsageReader(layout);
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
    qosReserved: gates.enabled("QOSReserved")
      ? reservedForQos(config.qosReserved.memory, enforcement)
      : undefined,
  };
  return {
    ...machine,
    startedAt,
    configuration,
    settings,
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
