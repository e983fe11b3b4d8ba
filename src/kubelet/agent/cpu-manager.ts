import { KubeletError } from "../../lib/base/errors.ts";
import { formatCpuSet, parseCpuSet } from "../../lib/model/cpu-set.ts";
import type { Pod } from "../../lib/model/pod.ts";
import { amountsOf, milliOf } from "../../lib/model/resources.ts";
import { CpuManager } from "../resources/cpu/cpu-manager.ts";
import { CpuTopology } from "../resources/cpu/cpu-topology.ts";
import { CpusetReconciler } from "../resources/cpu/cpuset-reconciler.ts";
import { checkOptions, staticPolicyOptions } from "../resources/cpu/policy-options.ts";
import { type StaticPolicy, staticPolicy } from "../resources/cpu/static-policy.ts";
import type { AgentCore } from "./agent-core.ts";

export interface CpuParts {
  readonly manager: CpuManager;
  /** Under the static policy only. */
  readonly reconciler: CpusetReconciler | undefined;
}

/** The CPU manager as configured. Throws if the machine does not support the configuration. */
export function cpuManager(core: AgentCore, activePods: () => readonly Pod[]): CpuParts {
  const { options, config, node, observed, cri, metrics, clock, logger } = core;
  const policy = policyOf(core);
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

function policyOf({ options, config, node }: AgentCore): StaticPolicy | undefined {
  const configured = config.cpuManagerPolicyOptions ?? {};
  const reservedCpus = parseCpuSet(config.reservedSystemCPUs);
  const topology = new CpuTopology(node.topology.cpus);
  if (!reservedCpus.isSubsetOf(topology.all))
    throw new KubeletError(
      "InvalidReservation",
      `reserved-cpus: ${config.reservedSystemCPUs} is not a subset of online-cpus: ${formatCpuSet(topology.all)}`,
    );
  if (config.cpuManagerPolicy !== "static") {
    const names = Object.keys(configured);
    if (names.length > 0)
      throw new KubeletError(
        "InvalidCpuManagerPolicy",
        `new none policy error: None policy: received unsupported options=map[${names.map((name) => `${name}:${configured[name]}`).join(" ")}]`,
      );
    return undefined;
  }
  const { systemReserved, kubeReserved } = node.enforcement;
  const policyOptions = staticPolicyOptions(configured, options.gates);
  checkOptions(policyOptions, topology, config.topologyManagerPolicy);
  return staticPolicy({
    topology,
    options: policyOptions,
    reservedCpus,
    reservedMilliCpus: milliOf(amountsOf(systemReserved), "cpu") + milliOf(amountsOf(kubeReserved), "cpu"),
  });
}
