import { KubeletError } from "../../../lib/base/errors.ts";
import { type CpuSet, formatCpuSet, isSameCpuSet } from "../../../lib/model/cpu-set.ts";
import { ResourceShortage } from "../../../lib/model/resource-shortage.ts";
import { type CpuAssignments, exclusiveOf } from "./cpu-assignments.ts";
import type { CpuTopology } from "./cpu-topology.ts";
import { distributeCpus } from "./distribute-cpus.ts";
import type { StaticPolicyOptions } from "./policy-options.ts";
import { takeCpus } from "./take-cpus.ts";

const smtAlignmentError = "SMTAlignmentError";

/** The machine and the configuration that decide which CPUs a container gets. */
export interface StaticPolicy {
  readonly topology: CpuTopology;
  readonly options: StaticPolicyOptions;
  /** Not available to containers for themselves. */
  readonly reserved: CpuSet;
}

/** `reservedCpus` names the reserved CPUs; if it is empty, as many as `reservedMilliCpus` needs are chosen. */
export function staticPolicy(o: {
  readonly topology: CpuTopology;
  readonly options: StaticPolicyOptions;
  readonly reservedCpus: CpuSet;
  readonly reservedMilliCpus: bigint;
}): StaticPolicy {
  const { topology, options, reservedCpus, reservedMilliCpus } = o;
  if (reservedMilliCpus === 0n)
    throw invalid(
      "[cpumanager] the static policy requires systemreserved.cpu + kubereserved.cpu to be greater than zero",
    );
  // A part of a CPU cannot be reserved.
  const count = Number((reservedMilliCpus + 999n) / 1000n);
  const reserved = reservedCpus.size > 0 ? reservedCpus : takeIfPossible({ topology, options }, count);
  if (reserved.size !== count)
    throw invalid(
      `new static policy error: [cpumanager] unable to reserve the required amount of CPUs (size of ${formatCpuSet(reserved)} did not equal ${count})`,
    );
  const unknown = [...reserved].find((cpu) => !topology.all.has(cpu));
  if (unknown !== undefined)
    throw invalid(
      `new static policy error: [cpumanager] unable to build the reserved physical CPUs from the reserved set: unknown CPU ID: ${unknown}`,
    );
  return { topology, options, reserved };
}

/** The CPUs that containers can have for themselves, whether they are free or not. */
export function allocatableCpus({ topology, reserved }: StaticPolicy): CpuSet {
  return topology.all.difference(reserved);
}

export function availableCpus({ reserved }: StaticPolicy, { shared }: CpuAssignments): CpuSet {
  return shared.difference(reserved);
}

/** The CPUs of whole cores. The siblings of reserved CPUs are excluded: their cores are not whole. */
function availablePhysicalCpus({ topology, reserved }: StaticPolicy, { shared }: CpuAssignments): CpuSet {
  const cores = [...topology.groupsOf("core", reserved)];
  return shared.difference(new Set(cores.flatMap((core) => [...topology.cpusIn("core", core)])));
}

/** The assignments before the first pod. */
export function initialAssignments(policy: StaticPolicy): CpuAssignments {
  return { shared: sharedAndExclusive(policy), pods: new Map() };
}

/** All CPUs that containers run on. */
function sharedAndExclusive({ topology, options, reserved }: StaticPolicy): CpuSet {
  return options.strictReservation ? topology.all.difference(reserved) : topology.all;
}

/** Throws if the assignments were made on another machine or with another configuration. */
export function checkAssignments(policy: StaticPolicy, assignments: CpuAssignments): void {
  const { reserved, options } = policy;
  const { shared, pods } = assignments;
  const text = (cpus: CpuSet) => JSON.stringify(formatCpuSet(cpus));
  // With a strict reservation all other CPUs may be exclusive.
  if (shared.size === 0 && !options.strictReservation) throw invalid("default cpuset cannot be empty");
  const reservedAndShared = reserved.intersection(shared);
  if (options.strictReservation) {
    if (reservedAndShared.size > 0)
      throw invalid(
        `some of strictly reserved cpus: ${text(reservedAndShared)} are present in defaultCpuSet: ${text(shared)}`,
      );
  } else if (reservedAndShared.size < reserved.size)
    throw invalid(`not all reserved cpus: ${text(reserved)} are present in defaultCpuSet: ${text(shared)}`);
  for (const [uid, containers] of pods)
    for (const [container, cpus] of containers)
      if (!cpus.isDisjointFrom(shared))
        throw invalid(
          `pod: ${uid}, container: ${container} cpuset: ${text(cpus)} overlaps with default cpuset ${text(shared)}`,
        );
  const known = shared.union(exclusiveOf(assignments));
  const expected = sharedAndExclusive(policy);
  if (!isSameCpuSet(known, expected))
    throw invalid(
      `current set of available CPUs ${text(expected)} doesn't match with CPUs in state ${text(known)}`,
    );
}

/** Throws if whole cores are required and there are not enough. `reusable` are CPUs that the pod already has. */
export function checkSmtAlignment(
  policy: StaticPolicy,
  assignments: CpuAssignments,
  { count, reusable }: { readonly count: number; readonly reusable: CpuSet },
): void {
  if (!policy.options.fullPcpusOnly) return;
  const perCore = policy.topology.cpusPer("core");
  if (count % perCore !== 0)
    throw new KubeletError(
      smtAlignmentError,
      `SMT Alignment Error: requested ${count} cpus not multiple cpus per core = ${perCore}`,
    );
  const available = availablePhysicalCpus(policy, assignments).union(reusable).size;
  if (count > available)
    throw new ResourceShortage(
      smtAlignmentError,
      `SMT Alignment Error: not enough free physical CPUs: available physical CPUs = ${available}, requested CPUs = ${count}, CPUs per core = ${perCore}`,
    );
}

/** CPUs for a container: from the NUMA nodes of the affinity first, then from others. Throws if there are not enough. */
export function chooseCpus(
  policy: StaticPolicy,
  request: {
    readonly count: number;
    readonly available: CpuSet;
    /** A bit for each NUMA node. */
    readonly affinity: bigint | undefined;
  },
): CpuSet {
  const { count, available, affinity } = request;
  const aligned = affinity === undefined ? new Set<number>() : available.intersection(near(policy, affinity));
  const chosen = take(policy, aligned, Math.min(count, aligned.size));
  return chosen.union(take(policy, available.difference(chosen), count - chosen.size));
}

/** The CPUs of the NUMA nodes, or of their sockets. */
function near({ topology, options }: StaticPolicy, affinity: bigint): CpuSet {
  const nodes = topology.ids("numaNode").filter((node) => affinity & (1n << BigInt(node)));
  const inNodes = nodes.flatMap((node) => [...topology.cpusIn("numaNode", node)]);
  if (!options.alignBySocket) return new Set(inNodes);
  const sockets = [...topology.groupsOf("socket", inNodes)];
  return new Set(sockets.flatMap((socket) => [...topology.cpusIn("socket", socket)]));
}

/** The CPUs of the available ones that the options prefer. Throws if there are not enough. */
export function take(
  { topology, options }: Pick<StaticPolicy, "topology" | "options">,
  available: CpuSet,
  count: number,
): CpuSet {
  const spread = options.distributeAcrossCores;
  if (options.distributeAcrossNuma) {
    const groupSize = options.fullPcpusOnly ? topology.cpusPer("core") : 1;
    return distributeCpus(topology, available, count, { groupSize, spread });
  }
  return takeCpus(topology, available, count, { spread, preferUncoreCache: options.preferUncoreCache });
}

function takeIfPossible(policy: Pick<StaticPolicy, "topology" | "options">, count: number): CpuSet {
  return count > policy.topology.all.size ? new Set() : take(policy, policy.topology.all, count);
}

function invalid(message: string): KubeletError {
  return new KubeletError("InvalidCpuManagerPolicy", message);
}
