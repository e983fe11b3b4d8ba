import { earliest, endOfTime, type MonotonicTime } from "../../../lib/base/time.ts";
import type { ContainerId } from "../../../lib/clients/cri/cri.ts";
import type { PodUid } from "../../../lib/model/pod.ts";

export interface StopHook {
  readonly failed: boolean;
  readonly running: boolean;
  doneBy(endsAt: MonotonicTime, signal: AbortSignal): Promise<void>;
  cancelWithContainer(): void;
  cancel(): void;
}

/** The stop of a container that is in progress. */
export interface ContainerStop {
  /** The end of its grace period. */
  endsAt: MonotonicTime;
  /** Its preStop hook, once started: it does not run a second time, and outlives the sync that started it. */
  hook?: StopHook;
}

/**
 * The stops in progress. A sync that stops a pod may be aborted by a shorter grace period; the next sync continues where it was. The grace
 * period only gets shorter.
 */
export class StopTracker {
  #stops = new Map<ContainerId, ContainerStop & { uid: PodUid }>();

  /** `first` is true if the container was not being stopped yet. */
  start(uid: PodUid, id: ContainerId, endsAt: MonotonicTime): { stop: ContainerStop; first: boolean } {
    const known = this.#stops.get(id);
    if (known) {
      known.endsAt = earliest(known.endsAt, endsAt);
      return { stop: known, first: false };
    }
    const stop: ContainerStop & { uid: PodUid } = { uid, endsAt };
    this.#stops.set(id, stop);
    return { stop, first: true };
  }

  /** The runtime failed to stop it, and may not have sent the signal: the next attempt gets the full grace period. */
  failed(id: ContainerId): void {
    const stop = this.#stops.get(id);
    if (!stop) return;
    stop.endsAt = endOfTime;
    // A hook that failed because of the runtime is run again.
    if (stop.hook?.failed) stop.hook = undefined;
  }

  exited(id: ContainerId): void {
    this.#stops.get(id)?.hook?.cancel();
    this.#stops.delete(id);
  }

  /** The pod is gone, and with it containers that disappeared while they were being stopped. */
  forget(uid: PodUid): void {
    for (const [id, stop] of this.#stops) if (stop.uid === uid) this.exited(id);
  }

  of(uid: PodUid): { id: ContainerId; endsAt: MonotonicTime; inHook: boolean }[] {
    return [...this.#stops]
      .filter(([, stop]) => stop.uid === uid)
      .map(([id, { endsAt, hook }]) => ({ id, endsAt, inHook: hook?.running ?? false }));
  }

  get size(): number {
    return this.#stops.size;
  }
}
