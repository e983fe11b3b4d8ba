import type { ConsoleEvent } from "../../../console/console-node.ts";
import type { OomKill } from "../../../lib/model/oom-kill.ts";
import type { Container, Pod, PodId, PodSourceName, PodUid } from "../../../lib/model/pod.ts";
import type { PodFailure } from "../../../lib/model/pod-failure.ts";
import type { ContentRef } from "../../pods/volumes/content/content-references.ts";
import type { PodChange } from "../../state/pod-change.ts";
import type { PodSyncStatus, WorkerPhase } from "../../state/pod-sync-status.ts";
import type { ProbeResultChange } from "../../state/probe-results.ts";

/**
 * The events between components of the kubelet. An event reports a change, not what to do. `event-table.ts` lists which components handle
 * it, and in which order. Handlers read the current state, so a late event does no harm.
 */
export type KubeletEvent =
  // Desired state
  | { readonly kind: "pods-changed"; readonly change: PodChange }
  /** The workers have the pods of this source for the first time. */
  | { readonly kind: "source-synced"; readonly source: PodSourceName }
  // Container runtime
  | { readonly kind: "runtime-observed"; readonly uid: PodUid; readonly what: string }
  /** All pods of the runtime were listed for the first time. */
  | { readonly kind: "runtime-synced" }
  | { readonly kind: "runtime-state"; readonly state: "unknown" | "up" | "not-ready" | "unavailable" }
  | {
      readonly kind: "container-started";
      readonly uid: PodUid;
      readonly pod: Pod;
      readonly container: Container;
    }
  /** The postStart hook of a container has completed: the status reports it as running from now on. */
  | { readonly kind: "post-start-done"; readonly uid: PodUid }
  | { readonly kind: "probe-result"; readonly uid: PodUid; readonly result: ProbeResultChange }
  /** The runtime has a pod that is neither desired nor being terminated. */
  | { readonly kind: "orphan-found"; readonly uid: PodUid; readonly pod: PodId }
  // Pod workers
  | { readonly kind: "worker-changed"; readonly uid: PodUid }
  /** A pod waits for something else: users see it, the status of the pod is the same. */
  | { readonly kind: "worker-step"; readonly uid: PodUid }
  /** An image that the pod needs is being pulled: users see how far, nothing else has changed. */
  | { readonly kind: "pull-progress"; readonly uid: PodUid }
  | { readonly kind: "worker-phase"; readonly uid: PodUid; readonly phase: WorkerPhase }
  /** A resize was allocated: the pod has other resources from now on. */
  | { readonly kind: "resize-allocated"; readonly uid: PodUid }
  /** A condition about the resize of a pod has changed. */
  | { readonly kind: "resize-changed"; readonly uid: PodUid }
  | { readonly kind: "pod-failed"; readonly uid: PodUid; readonly pod: Pod; readonly failure: PodFailure }
  /** A pod that was admitted turns out not to fit. */
  | { readonly kind: "pod-rejected"; readonly uid: PodUid; readonly failure: PodFailure }
  /** The kubelet terminates the pod to free resources: evicted or preempted. That is recorded on disk. */
  | {
      readonly kind: "pod-evicted";
      readonly uid: PodUid;
      readonly failure: PodFailure;
      /** The maximum; undefined for the grace period of the pod. */
      readonly graceSeconds?: number | undefined;
    }
  /** The kubelet terminates the pod because the machine shuts down. After the reboot it may run again. */
  | {
      readonly kind: "pod-shutdown";
      readonly uid: PodUid;
      readonly failure: PodFailure;
      /** The maximum. */
      readonly graceSeconds: number;
    }
  /** Volumes and cgroup of a terminated pod are removed. */
  | { readonly kind: "pod-resources-reclaimed"; readonly uid: PodUid }
  | { readonly kind: "worker-gone"; readonly uid: PodUid; readonly worker: PodSyncStatus }
  | { readonly kind: "status-changed"; readonly uid: PodUid }
  // Volumes
  | { readonly kind: "volumes-in-use" }
  /** The node status in the API lists these volumes as in use. */
  | { readonly kind: "volumes-reported"; readonly names: readonly string[] }
  | { readonly kind: "volumes-attached" }
  | { readonly kind: "volume-content-changed"; readonly ref: ContentRef }
  | { readonly kind: "csi-driver-changed"; readonly driver: string }
  /** A volume plugin can be used from now on. */
  | { readonly kind: "volume-plugins-changed" }
  | { readonly kind: "csi-node-ready" }
  /** A DRA driver accepts calls: pods may wait for it. */
  | { readonly kind: "dra-driver-connected"; readonly driver: string }
  /** The health of a device that the pod uses has changed. */
  | { readonly kind: "device-health-changed"; readonly uid: PodUid }
  // API server
  | { readonly kind: "api-pod"; readonly uid: PodUid; readonly pod: Pod }
  /** The mirror of this static pod has changed; `isFirst`: this agent observes it for the first time. */
  | { readonly kind: "mirror-changed"; readonly uid: PodUid; readonly isFirst: boolean }
  /** The node object in the API has changed, other than by this agent's own status and heartbeats. */
  | { readonly kind: "node-changed"; readonly spec: boolean; readonly addresses: boolean }
  /** All Services, or all RuntimeClasses, were listed for the first time. */
  | { readonly kind: "api-listed" }
  /** The API server was unreachable and responds again. */
  | { readonly kind: "api-reconnected" }
  // Node
  /** The kernel killed a process of this machine because memory ran out: of a container, a pod or the machine. */
  | { readonly kind: "oom-kill"; readonly kill: OomKill }
  /** Memory, disk or process IDs are low, or no longer are. */
  | { readonly kind: "pressure-changed" }
  /** Device plugins have listed other devices, or are gone; the health of devices of these pods has changed. */
  | { readonly kind: "devices-changed"; readonly pods: readonly PodUid[] }
  /** logind prepares for a shutdown of the machine (PrepareForShutdown), or has canceled it. */
  | { readonly kind: "shutdown-changed" }
  /** A component recorded a Kubernetes event; posted only for the node console. */
  | { readonly kind: "event-recorded"; readonly event: ConsoleEvent }
  | { readonly kind: "tick" };

export type EventKind = KubeletEvent["kind"];

export type EventOf<K extends EventKind> = Extract<KubeletEvent, { kind: K }>;

/** Enqueues an event in the sync loop, which runs its handlers soon, never before this returns. */
export type Post = (event: KubeletEvent) => void;
