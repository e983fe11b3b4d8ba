import { KubeletError, messageOf } from "../../../lib/base/errors.ts";
import type { RuntimeConnection } from "../../../lib/clients/cri/connection.ts";
import type { Pod, PodUid } from "../../../lib/model/pod.ts";
import type { PodEvents } from "../../../lib/model/pod-events.ts";
import type { PodFailure } from "../../../lib/model/pod-failure.ts";
import { isTerminalPhase } from "../../../lib/model/pod-phase.ts";
import type { Admission, SyncReport } from "../../../lib/model/pod-sync.ts";
import type { ClusterView } from "../../cluster/cluster-view.ts";
import type { PodAdmission } from "../../pods/admission/pod-admission.ts";
import type { PodObjects } from "../../pods/api-objects/pod-objects.ts";
import type { PullCredentials } from "../../pods/images/pull-credentials.ts";
import type { ProbeManager } from "../../pods/probes/probe-manager.ts";
import type { UserNamespaces } from "../../pods/user-namespaces/user-namespaces.ts";
import type { VolumeManager } from "../../pods/volumes/manager/volume-manager.ts";
import type { Allocation } from "../../resources/allocation/allocation.ts";
import type { TopologyManager } from "../../resources/topology/topology-manager.ts";
import type { PodStatuses } from "../../state/pod-statuses.ts";
import type { PodRuntime } from "../pod-runtime/pod-runtime.ts";
import type { PodSyncer } from "./pod-syncer.ts";

export interface PodSyncerOptions {
  readonly runtime: Pick<PodRuntime, "prefetch" | "sync" | "stop" | "release" | "remove">;
  readonly probes: Pick<ProbeManager, "addPod">;
  /** The ConfigMaps and Secrets that pods refer to; absent on a node that has none. */
  readonly objects: Pick<PodObjects, "register" | "unregister"> | undefined;
  readonly userNamespaces: Pick<UserNamespaces, "release">;
  readonly volumes: Pick<
    VolumeManager,
    "register" | "waiting" | "onChange" | "waitFor" | "release" | "isRejection"
  >;
  /** Reports pull secrets that cannot be retrieved. */
  readonly pullSecrets: Pick<PullCredentials, "reportMissing">;
  /** The ResourceClaims of pods; absent on a node that cannot have any. `onStep` reports what the pod waits for. */
  readonly resourceClaims: SyncResourceClaims | undefined;
  readonly connection: Pick<RuntimeConnection, "state" | "networkHealth">;
  readonly admission: Pick<PodAdmission, "admit">;
  /** Undefined without a cluster. Its labels and taints are read again if they reject a pod: the watch may not have delivered a new label yet. */
  readonly view: Pick<ClusterView, "readNode"> | undefined;
  /** Allocates exclusive resources to admitted pods. */
  readonly topology: Pick<TopologyManager, "admit">;
  readonly allocation: Pick<Allocation, "admitted">;
  readonly statuses: Pick<PodStatuses, "get" | "activeSince">;
  readonly events: PodEvents;
  /** A pod that was admitted turns out not to fit and has to terminate. */
  readonly onRejected: (uid: PodUid, failure: PodFailure) => void;
  /** Volumes and cgroup of the pod are removed; dead containers and logs are kept. */
  readonly onResourcesReclaimed: (uid: PodUid) => void;
}

interface SyncResourceClaims {
  prepare(pod: Pod, onStep: (text: string) => void, signal: AbortSignal): Promise<void>;
  unprepare(uid: PodUid, onStep: (text: string) => void, signal: AbortSignal): Promise<void>;
}

/** Syncs pods: admission, prerequisites of containers, the runtime, and the cleanup. */
export function createPodSyncer(o: PodSyncerOptions): PodSyncer {
  const { runtime, probes, objects, volumes, events } = o;
  /** Pods on the host network do not need the pod network. */
  const requireNetwork = (pod: Pod, report: SyncReport) => {
    // It is healthy until the runtime has reported it.
    if (o.connection.state.kind === "unknown") return;
    const network = o.connection.networkHealth();
    if (network.ok || pod.spec.hostNetwork) return;
    const message = `network is not ready: ${network.reason}`;
    events.warning(pod, "NetworkNotReady", message);
    report.blockedOn(message, { kind: "network" });
    throw new KubeletError("NetworkNotReady", message);
  };
  /** A pod that was admitted, and turns out not to fit. */
  const reject = (pod: Pod, { code: reason, message }: KubeletError) => {
    events.warning(pod, reason, message);
    o.onRejected(pod.metadata.uid, { phase: "Failed", reason, message: `Pod was rejected: ${message}` });
  };
  const decide = (pod: Pod, report: SyncReport, signal: AbortSignal): Admission | Promise<Admission> => {
    const admission = o.admission.admit(pod);
    const isMismatch = admission.kind === "rejected" && admission.failure.reason === "NodeAffinity";
    if (!isMismatch || !o.view) return allocate(pod, admission, report, signal);
    report.blockedOn("reading the labels of the node", { kind: "admission" });
    return o.view.readNode(signal).then(() => {
      signal.throwIfAborted();
      return allocate(pod, o.admission.admit(pod), report, signal);
    });
  };
  /**
   * As in the reference, the managers of exclusive resources decide before the resources of the node are checked. If a pod fits neither, the
   * managers provide the reason and count the rejection. What they allocate to a pod that is rejected is released when its worker has
   * terminated it.
   */
  const allocate = (pod: Pod, admission: Admission, report: SyncReport, signal: AbortSignal) => {
    const isTooLarge = admission.kind === "rejected" && /^OutOf(cpu|memory)$/.test(admission.failure.reason);
    const allocated =
      admission.kind === "admitted" || isTooLarge ? o.topology.admit(pod, report, signal) : undefined;
    if (!isTooLarge) return allocated ?? admission;
    return allocated?.then((result) => (result.kind === "rejected" ? result : admission)) ?? admission;
  };
  const admitted = (pod: Pod, admission: Admission) => {
    if (admission.kind === "admitted") o.allocation.admitted(pod);
    if (admission.kind === "rejected") {
      const { reason, message } = admission.failure;
      events.warning(pod, reason, message.replace(/^Pod was rejected: /, ""));
    }
    return admission;
  };
  /** Reports the first volume that the pod waits for. */
  const waitForVolumes = async (pod: Pod, report: SyncReport, signal: AbortSignal) => {
    const { uid } = pod.metadata;
    volumes.register(pod);
    const reportFirst = () => {
      const [first] = volumes.waiting(uid);
      if (first !== undefined) report.blockedOn(first, { kind: "volumes" });
    };
    const stop = volumes.onChange((changed) => changed === uid && reportFirst());
    try {
      reportFirst();
      await volumes.waitFor(pod, signal);
    } catch (error) {
      if (volumes.isRejection(error)) reject(pod, error);
      throw error;
    } finally {
      stop();
    }
  };
  const prepareResourceClaims = async (pod: Pod, report: SyncReport, signal: AbortSignal) => {
    try {
      await o.resourceClaims?.prepare(pod, (text) => report.blockedOn(text, { kind: "claims" }), signal);
    } catch (error) {
      if (!signal.aborted)
        events.warning(
          pod,
          "FailedPrepareDynamicResources",
          `Failed to prepare dynamic resources: ${messageOf(error)}`,
        );
      throw error;
    }
  };
  return {
    sync: async (pod, report, signal) => {
      probes.addPod(pod);
      objects?.register(pod);
      runtime.prefetch(pod);
      requireNetwork(pod, report);
      await waitForVolumes(pod, report, signal);
      // Containers whose images are present do not wait for secrets.
      void o.pullSecrets.reportMissing(pod, signal).catch(() => {});
      await prepareResourceClaims(pod, report, signal);
      return runtime.sync(pod, report, signal);
    },
    stop: async (uid, pod, options) => {
      await runtime.stop(uid, pod, options);
      // Runs before the status is final: once the phase is terminal, the ResourceClaims of the pod may be allocated to other pods.
      const { report, signal } = options;
      await o.resourceClaims?.unprepare(uid, (text) => report.blockedOn(text, { kind: "claims" }), signal);
    },
    release: async (uid, signal) => {
      await volumes.release(uid, signal);
      await runtime.release(uid);
      await o.userNamespaces.release(uid);
      objects?.unregister({ metadata: { uid } });
      o.onResourcesReclaimed(uid);
    },
    remove: (id, signal) => runtime.remove(id, signal),
    isTerminal: ({ metadata }) => isTerminalPhase(o.statuses.get(metadata.uid)?.phase),
    admit: (pod, report, signal) => {
      const decision = decide(pod, report, signal);
      return decision instanceof Promise
        ? decision.then((admission) => admitted(pod, admission))
        : admitted(pod, decision);
    },
    deadlineOf: ({ metadata, spec: { activeDeadlineSeconds } }) => {
      const since = o.statuses.activeSince(metadata.uid);
      if (activeDeadlineSeconds == null || since === undefined) return undefined;
      return { since, limitMs: activeDeadlineSeconds * 1000 };
    },
  };
}
