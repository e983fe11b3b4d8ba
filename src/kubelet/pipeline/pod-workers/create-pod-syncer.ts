import type { Health } from "../../../lib/base/component.ts";
import { KubeletError, messageOf } from "../../../lib/base/errors.ts";
import type { WallTime } from "../../../lib/base/time.ts";
import type { Pod, PodId, PodUid } from "../../../lib/model/pod.ts";
import type { PodEvents } from "../../../lib/model/pod-events.ts";
import type { PodFailure } from "../../../lib/model/pod-failure.ts";
import type { Admission, SyncReport } from "../../../lib/model/pod-sync.ts";
import type { PodSyncer } from "./pod-syncer.ts";

export interface PodSyncerOptions {
  readonly runtime: Pick<PodSyncer, "sync" | "stop"> & {
    release(uid: PodUid): Promise<void>;
    remove(id: PodId, signal: AbortSignal): Promise<void>;
  };
  readonly probes: { addPod(pod: Pod): void };
  /** The ConfigMaps and Secrets that pods refer to. */
  readonly objects: { register(pod: Pod): void; unregister(pod: { metadata: { uid: PodUid } }): void };
  readonly userNamespaces: { release(uid: PodUid): Promise<void> };
  readonly volumes: SyncVolumes;
  /** Reports pull secrets that cannot be retrieved. */
  readonly pullSecrets?: { reportMissing(pod: Pod, signal: AbortSignal): Promise<void> };
  /** The ResourceClaims of pods; absent on a node that cannot have any. `onStep` reports what the pod waits for. */
  readonly resourceClaims?: SyncResourceClaims | undefined;
  /** The network health that the runtime reports; healthy until known. */
  readonly networkHealth: () => Health;
  /** Whether this node will run the pod. */
  readonly admit: (pod: Pod) => Admission;
  /** Reads labels and taints of the node again: a pod may be scheduled by a label that the watch has not delivered yet. */
  readonly readNode?: (signal: AbortSignal) => Promise<void>;
  /** Allocates exclusive resources to an admitted pod; undefined if it needs none. */
  readonly allocate?: (pod: Pod, report: SyncReport, signal: AbortSignal) => Promise<Admission> | undefined;
  /** The pod may run here, with the resources that it has now. */
  readonly admitted: (pod: Pod) => void;
  /** Whether the phase of the pod is terminal. Changes no status. */
  readonly isTerminal: (uid: PodUid) => boolean;
  /** When the pod became active on this node: its deadline starts then. */
  readonly activeSince: (uid: PodUid) => WallTime | undefined;
  readonly events: PodEvents;
  /** A pod that was admitted turns out not to fit and has to terminate. */
  readonly onRejected: (uid: PodUid, failure: PodFailure) => void;
  /** Volumes and cgroup of the pod are removed; dead containers and logs are kept. */
  readonly onResourcesReclaimed: (uid: PodUid) => void;
}

interface SyncVolumes {
  register(pod: Pod): void;
  /** A line for each volume that is not mounted. */
  waiting(uid: PodUid): string[];
  /** Returns a function that unsubscribes. */
  onChange(listener: (uid: PodUid) => void): () => void;
  waitFor(pod: Pod, signal: AbortSignal): Promise<void>;
  release(uid: PodUid, signal: AbortSignal): Promise<void>;
  /** True if the pod can never have its volumes on this node. */
  isRejection(error: unknown): boolean;
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
    const network = o.networkHealth();
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
    const admission = o.admit(pod);
    const isMismatch = admission.kind === "rejected" && admission.failure.reason === "NodeAffinity";
    if (!isMismatch || !o.readNode) return allocate(pod, admission, report, signal);
    report.blockedOn("reading the labels of the node", { kind: "admission" });
    return o.readNode(signal).then(() => {
      signal.throwIfAborted();
      return allocate(pod, o.admit(pod), report, signal);
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
      admission.kind === "admitted" || isTooLarge ? o.allocate?.(pod, report, signal) : undefined;
    if (!isTooLarge) return allocated ?? admission;
    return allocated?.then((result) => (result.kind === "rejected" ? result : admission)) ?? admission;
  };
  const admitted = (pod: Pod, admission: Admission) => {
    if (admission.kind === "admitted") o.admitted(pod);
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
      if (error instanceof KubeletError && volumes.isRejection(error)) reject(pod, error);
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
      objects.register(pod);
      requireNetwork(pod, report);
      await waitForVolumes(pod, report, signal);
      // Containers whose images are present do not wait for secrets.
      void o.pullSecrets?.reportMissing(pod, signal).catch(() => {});
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
      objects.unregister({ metadata: { uid } });
      o.onResourcesReclaimed(uid);
    },
    remove: (id, signal) => runtime.remove(id, signal),
    isTerminal: ({ metadata }) => o.isTerminal(metadata.uid),
    admit: (pod, report, signal) => {
      const decision = decide(pod, report, signal);
      return decision instanceof Promise
        ? decision.then((admission) => admitted(pod, admission))
        : admitted(pod, decision);
    },
    deadlineOf: ({ metadata, spec: { activeDeadlineSeconds } }) => {
      const since = o.activeSince(metadata.uid);
      if (activeDeadlineSeconds == null || since === undefined) return undefined;
      return { since, limitMs: activeDeadlineSeconds * 1000 };
    },
  };
}
