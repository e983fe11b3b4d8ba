import { earliest, endOfTime, type MonotonicTime } from "../../../lib/base/time.ts";
import type { ContainerId } from "../../../lib/clients/cri/cri.ts";
import type { PodUid } from "../../../lib/model/pod.ts";

export interface StopHook {
  /** True if it went wrong. */
  readonly failed: boolean;
  readonly running: boolean;
  doneBy(endsAt: MonotonicTime, signal: AbortSignal): Promise<void>;
  endWithContainer(): void;
  end(): void;
}

/** What was done so far to end a container. */
export interface ContainerStop {
  /** When its grace is over (milliseconds since the epoch). */
  endsAt: MonotonicTime;
  /** Its preStop hook, once it was begun: it is not run a second time, and outlives the pass that began it. */
  hook?: StopHook;
}

/**
 * The stops that are under way. A pass that ends a pod may be cut off, because somebody wants it ended sooner; the
 * next pass goes on where that one was. A grace period gets shorter by that, never longer.
 */
export class StopTracker {
  #stops = new Map<ContainerId, ContainerStop & { uid: PodUid }>();

  /** `first` is true if nobody was ending this container yet. */
  begin(uid: PodUid, id: ContainerId, endsAt: MonotonicTime): { stop: ContainerStop; first: boolean } {
    const known = this.#stops.get(id);
    if (known) {
      known.endsAt = earliest(known.endsAt, endsAt);
      return { stop: known, first: false };
    }
    const stop: ContainerStop & { uid: PodUid } = { uid, endsAt };
    this.#stops.set(id, stop);
    return { stop, first: true };
  }

  /** The runtime did not do it, and may not even have told the container: the next attempt has all its time. */
  failed(id: ContainerId): void {
    const stop = this.#stops.get(id);
    if (!stop) return;
    stop.endsAt = endOfTime;
    // What failed with the runtime is tried with it again.
    if (stop.hook?.failed) stop.hook = undefined;
  }

  ended(id: ContainerId): void {
    this.#stops.get(id)?.hook?.end();
    this.#stops.delete(id);
  }

  /** The pod is gone, and with it containers whose end nobody saw: those that vanished while they were being stopped. */
  forget(uid: PodUid): void {
    for (const [id, stop] of this.#stops) if (stop.uid === uid) this.ended(id);
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
