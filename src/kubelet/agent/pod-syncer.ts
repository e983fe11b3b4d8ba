import { declaredFeatures } from "../node/declared-features.ts";
import { createPodSyncer, type PodSyncerOptions } from "../pipeline/pod-workers/create-pod-syncer.ts";
import type { PodSyncer } from "../pipeline/pod-workers/pod-syncer.ts";
import {
  type PodAdmission,
  type PodAdmissionOptions,
  podAdmission,
} from "../pods/admission/pod-admission.ts";
import type { EvictedPods } from "../resources/evicted-pods/evicted-pods.ts";
import { runningContainers } from "../state/observed-pods.ts";
import type { AgentCore } from "./agent-core.ts";
import type { DynamicResources } from "./dynamic-resources.ts";

/** Decides which pods may run on this node, and with which resources. */
export function nodeAdmission(
  core: AgentCore,
  {
    evictedPods,
    ...parts
  }: Pick<PodAdmissionOptions, "activePods" | "devices"> & {
    readonly evictedPods: EvictedPods;
  },
): PodAdmission {
  const { node, config, events, metrics, clock, logger, observed, view } = core;
  return podAdmission({
    clock,
    logger,
    events,
    metrics,
    ...parts,
    nodeName: node.name,
    labelsAndTaints: core.labelsAndTaints,
    evict: (uid, failure) => void evictedPods.evict(uid, { failure }),
    isTerminating: (uid) => evictedPods.has(uid) || core.workers.get(uid)?.phase === "terminating",
    allocatable: node.info.allocatable,
    ...(view && { apiAllocatable: () => view.allocatable() }),
    cpus: node.cpus,
    maxPods: config.maxPods,
    podsPerCore: config.podsPerCore,
    allowedUnsafeSysctls: config.allowedUnsafeSysctls ?? [],
    podLevelResources: node.settings.gates.podLevelResources,
    extendedResourcesByDra: core.options.gates.enabled("DRAExtendedResource"),
    declaredFeatures: () => declaredFeatures(core.options.gates, core.features),
    comparesTaints: core.options.gates.enabled("TaintTolerationComparisonOperators"),
    runtime: core.features,
    pressure: core.pressure,
    shutdown: core.shutdown,
    runs: (uid) => runningContainers(observed.get(uid)).length > 0,
  });
}

/** The pod syncer with the components of this agent. */
export function podSyncer(
  core: AgentCore,
  {
    dynamicResources,
    ...parts
  }: Pick<
    PodSyncerOptions,
    | "runtime"
    | "probes"
    | "userNamespaces"
    | "volumes"
    | "pullSecrets"
    | "topology"
    | "admission"
    | "allocation"
  > & { readonly dynamicResources: DynamicResources | undefined },
): PodSyncer {
  const { events, connection, objects, statuses, view, post } = core;
  return createPodSyncer({
    ...parts,
    events,
    connection,
    objects,
    statuses,
    view,
    resourceClaims: dynamicResources?.claims,
    onRejected: (uid, failure) => post({ kind: "pod-rejected", uid, failure }),
    onResourcesReclaimed: (uid) => post({ kind: "pod-resources-reclaimed", uid }),
  });
}
