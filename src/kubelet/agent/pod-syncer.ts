import { healthy } from "../../lib/base/component.ts";
import { KubeletError } from "../../lib/base/errors.ts";
import type { Pod, PodUid } from "../../lib/model/pod.ts";
import { isTerminalPhase } from "../../lib/model/pod-phase.ts";
import type { Admission, SyncReport } from "../../lib/model/pod-sync.ts";
import { declaredFeatures } from "../node/declared-features.ts";
import type { PodRuntime } from "../pipeline/pod-runtime/pod-runtime.ts";
import { createPodSyncer } from "../pipeline/pod-workers/create-pod-syncer.ts";
import type { PodSyncer } from "../pipeline/pod-workers/pod-syncer.ts";
import type { StatusManager } from "../pipeline/status-manager/status-manager.ts";
import {
  type PodAdmission,
  type PodAdmissionOptions,
  podAdmission,
} from "../pods/admission/pod-admission.ts";
import { attachmentLimitExceeded, type VolumeManager } from "../pods/volumes/manager/volume-manager.ts";
import { runningContainers } from "../state/observed-pods.ts";
import type { AgentCore } from "./agent-core.ts";
import type { DynamicResources } from "./dynamic-resources.ts";

/** Decides which pods may run on this node, and with which resources. */
export function nodeAdmission(
  core: AgentCore,
  parts: Pick<PodAdmissionOptions, "activePods" | "devices" | "evict" | "isTerminating">,
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
    allocatable: node.info.allocatable,
    ...(view && { apiAllocatable: () => view.allocatable() }),
    cpus: node.cpus,
    maxPods: config.maxPods,
    podsPerCore: config.podsPerCore,
    allowedUnsafeSysctls: config.allowedUnsafeSysctls ?? [],
    podLevelResources: node.settings.gates.podLevelResources,
    extendedResourcesByDra: core.options.gates.enabled("DRAExtendedResource"),
    declaredFeatures: () => declaredFeatures((gate) => core.options.gates.enabled(gate), core.features),
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
  parts: {
    readonly runtime: PodRuntime;
    readonly statuses: Pick<StatusManager, "get" | "activeSince">;
    readonly probes: { addPod(pod: Pod): void };
    readonly userNamespaces: { release(uid: PodUid): Promise<void> };
    readonly volumes: VolumeManager;
    readonly pullSecrets: { reportMissing(pod: Pod, signal: AbortSignal): Promise<void> };
    readonly dynamicResources: DynamicResources | undefined;
    readonly exclusiveResources: {
      admit(pod: Pod, report: SyncReport, signal: AbortSignal): Promise<Admission> | undefined;
    };
    readonly admit: PodAdmission["admit"];
    readonly admitted: (pod: Pod) => void;
  },
): PodSyncer {
  const { events, connection, post, view } = core;
  const { runtime, probes, statuses, volumes, userNamespaces, admit, admitted } = parts;
  const { exclusiveResources } = parts;
  return createPodSyncer({
    runtime,
    probes,
    userNamespaces,
    admit,
    admitted,
    events,
    pullSecrets: parts.pullSecrets,
    resourceClaims: parts.dynamicResources?.claims,
    objects: core.objects ?? noObjects,
    ...(view && { readNode: (signal) => view.readNode(signal) }),
    volumes: {
      register: (pod) => volumes.register(pod),
      waiting: (uid) => volumes.waiting(uid),
      onChange: (listener) => volumes.onChange(listener),
      waitFor: (pod, signal) => volumes.waitFor(pod, signal),
      release: (uid, signal) => volumes.release(uid, signal),
      isRejection: (error) => error instanceof KubeletError && error.code === attachmentLimitExceeded,
    },
    networkHealth: () => (connection.state.kind === "unknown" ? healthy : connection.networkHealth()),
    allocate: (pod, report, signal) => exclusiveResources.admit(pod, report, signal),
    isTerminal: (uid) => isTerminalPhase(statuses.get(uid)?.phase),
    activeSince: (uid) => statuses.activeSince(uid),
    onRejected: (uid, failure) => post({ kind: "pod-rejected", uid, failure }),
    onResourcesReclaimed: (uid) => post({ kind: "pod-resources-reclaimed", uid }),
  });
}

/** For a node with neither a cluster nor a directory of objects. */
const noObjects = { register() {}, unregister() {} };
