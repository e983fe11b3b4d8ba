import type { Pod } from "../../lib/model/pod.ts";
import { amountsOf, milliOf } from "../../lib/model/resources.ts";
import { configuredPolicy } from "../resources/cpu/configured-policy.ts";
import { CpuManager } from "../resources/cpu/cpu-manager.ts";
import { CpuTopology } from "../resources/cpu/cpu-topology.ts";
import { CpusetReconciler } from "../resources/cpu/cpuset-reconciler.ts";
import type { AgentCore } from "./agent-core.ts";

export interface CpuParts {
  readonly manager: CpuManager;
  /** Under the static policy only. */
  readonly reconciler: CpusetReconciler | undefined;
}

/** The CPU manager as configured. Throws if the machine does not support the configuration. */
export function cpuManager(core: AgentCore, activePods: () => readonly Pod[]): CpuParts {
  const { options, config, node, observed, cri, metrics, clock, logger } = core;
  const { systemReserved, kubeReserved } = node.enforcement;
  const policy = configuredPolicy({
    config,
    gates: options.gates,
    topology: new CpuTopology(node.topology.cpus),
    reservedMilliCpus: milliOf(amountsOf(systemReserved), "cpu") + milliOf(amountsOf(kubeReserved), "cpu"),
  });
  const manager = new CpuManager({
    rootDir: options.rootDir,
    policy,
    metrics,
    logger,
    podLevelResources: node.settings.gates.podLevelResources,
    podLevelManagers: node.settings.podLevelManagers,
  });
  const reconciler =
    policy &&
    new CpusetReconciler({
      activePods,
      observed,
      runtime: cri,
      clock,
      logger,
      everyMs: config.cpuManagerReconcilePeriod,
      cpus: manager,
    });
  return { manager, reconciler };
}
