import type { PodUid } from "../../lib/model/pod.ts";
import { isTerminalPhase } from "../../lib/model/pod-phase.ts";
import type { DesiredPods } from "./desired-pods.ts";
import type { PodStatuses } from "./pod-statuses.ts";
import type { WorkerPhase } from "./pod-sync-status.ts";
import type { WorkerStates } from "./worker-states.ts";

export interface NodePodsOptions {
  readonly desired: Pick<DesiredPods, "get">;
  readonly workers: Pick<WorkerStates, "get">;
  readonly statuses: Pick<PodStatuses, "get">;
}

/** Facts about a pod of this node that follow from several registries. */
export class NodePods {
  readonly #o: NodePodsOptions;

  constructor(options: NodePodsOptions) {
    this.#o = options;
  }

  /** False for a pod that is no longer in any source, and that is not being terminated by this agent. */
  isKnown(uid: PodUid): boolean {
    return this.#o.desired.get(uid) !== undefined || this.#o.workers.get(uid)?.pod !== undefined;
  }

  /** The phase of a pod's worker; undefined for a pod that is neither desired nor running. */
  phaseOf(uid: PodUid): WorkerPhase | undefined {
    return this.#o.workers.get(uid)?.phase ?? (this.#o.desired.get(uid) ? "syncing" : undefined);
  }

  /**
   * True if the pod will release its resources: no source has it, its phase is terminal, or its containers are being stopped or have
   * terminated. The status may be final before the worker acts on it.
   */
  willReleaseResources(uid: PodUid): boolean {
    const { desired, workers, statuses } = this.#o;
    const phase = workers.get(uid)?.phase;
    const isEnding = phase !== undefined && phase !== "syncing";
    return desired.get(uid) === undefined || isEnding || isTerminalPhase(statuses.get(uid)?.phase);
  }

  /** The name of a pod that a source has or had, for explanations. */
  nameOf(uid: PodUid): string {
    const id = this.#o.workers.get(uid)?.id ?? this.#o.desired.get(uid)?.metadata;
    return id ? `${id.namespace}/${id.name}` : `pod ${uid}`;
  }
}
