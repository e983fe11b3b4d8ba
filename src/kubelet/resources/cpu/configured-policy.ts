import { KubeletError } from "../../../lib/base/errors.ts";
import type { KubeletConfiguration } from "../../../lib/config/kubelet-configuration.ts";
import { formatCpuSet, parseCpuSet } from "../../../lib/model/cpu-set.ts";
import type { CpuTopology } from "./cpu-topology.ts";
import { checkOptions, staticPolicyOptions } from "./policy-options.ts";
import { type StaticPolicy, staticPolicy } from "./static-policy.ts";

/** The static policy as configured; undefined if the policy is "none". Throws if the machine does not support the configuration. */
export function configuredPolicy(o: {
  readonly config: Pick<
    KubeletConfiguration,
    "cpuManagerPolicy" | "cpuManagerPolicyOptions" | "reservedSystemCPUs" | "topologyManagerPolicy"
  >;
  readonly gates: { enabled(name: string): boolean };
  readonly topology: CpuTopology;
  /** Reserved for the system and for Kubernetes together. */
  readonly reservedMilliCpus: bigint;
}): StaticPolicy | undefined {
  const { config, gates, topology, reservedMilliCpus } = o;
  const configured = config.cpuManagerPolicyOptions ?? {};
  const reservedCpus = parseCpuSet(config.reservedSystemCPUs);
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
  const options = staticPolicyOptions(configured, gates);
  checkOptions(options, topology, config.topologyManagerPolicy);
  return staticPolicy({ topology, options, reservedCpus, reservedMilliCpus });
}
