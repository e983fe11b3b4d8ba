import type { Clock } from "../../../lib/base/clock.ts";
import { ContainerEventType } from "../../../lib/gen/runtime/v1/api_pb.js";
import type { PodUid } from "../../../lib/model/pod.ts";
import type { ObservedPod } from "../../state/observed-pods.ts";
import type { Pleg } from "./pleg.ts";

/** An event of the runtime about a container or a sandbox of a pod. */
export interface RuntimeHint {
  readonly id: string;
  readonly type: ContainerEventType;
}

export interface RefreshHintsOptions {
  readonly clock: Clock;
  readonly observed: { get(uid: PodUid): ObservedPod | undefined };
  readonly pleg: Pick<Pleg, "refreshNow" | "stopped" | "relistSoon">;
  /** True while a call of this agent starts something of the pod. The agent observes the result when the call returns. */
  readonly limiter: { isRunning(uid: PodUid): boolean };
}

/** The pod runtime refreshes a pod after each of its own calls: within this time after the call has returned, even while many pods start. */
const ownCallMs = 250;
/** A call that takes longer may hang. Events from before the call are observed without waiting for it. */
const maxStartMs = 10_000;

/**
 * Observes what events name, unless the observed pods already show what an event reports: most events are caused by calls of this agent,
 * whose results it observes without them. After an exit only the status of what has stopped is read; after other events the pod is refreshed.
 */
export class RefreshHints {
  readonly #o: RefreshHintsOptions;
  /** Events of each pod that wait to be compared with the observed pods. */
  readonly #waiting = new Map<PodUid, RuntimeHint[]>();

  constructor(options: RefreshHintsOptions) {
    this.#o = options;
  }

  received(uid: PodUid, hint: RuntimeHint): void {
    if (this.#isObserved(uid, hint)) return;
    if (hint.type === ContainerEventType.CONTAINER_STOPPED_EVENT) {
      this.#observe(this.#o.pleg.stopped(uid, hint.id));
      return;
    }
    const waiting = this.#waiting.get(uid);
    if (waiting) {
      waiting.push(hint);
      return;
    }
    this.#waiting.set(uid, [hint]);
    this.#compareLater(uid);
  }

  #compareLater(uid: PodUid, waitedMs = 0): void {
    this.#o.clock.after(ownCallMs, () => {
      if (waitedMs < maxStartMs && this.#o.limiter.isRunning(uid))
        return this.#compareLater(uid, waitedMs + ownCallMs);
      const hints = this.#waiting.get(uid) ?? [];
      this.#waiting.delete(uid);
      if (!hints.every((each) => this.#isObserved(uid, each))) this.#observe(this.#o.pleg.refreshNow(uid));
    });
  }

  #observe(observed: Promise<void>): void {
    observed.catch(() => this.#o.pleg.relistSoon());
  }

  /** States only move forward: a later one includes what the event reports. */
  #isObserved(uid: PodUid, { id, type }: RuntimeHint): boolean {
    const pod = this.#o.observed.get(uid);
    const container = pod?.containers.find((c) => c.id === id);
    const sandbox = pod?.sandboxes.find((s) => s.id === id);
    switch (type) {
      case ContainerEventType.CONTAINER_CREATED_EVENT:
        return container !== undefined || sandbox !== undefined;
      case ContainerEventType.CONTAINER_STARTED_EVENT:
        return container?.state === "running" || container?.state === "exited" || sandbox?.state === "ready";
      case ContainerEventType.CONTAINER_STOPPED_EVENT:
        return container?.state === "exited" || sandbox?.state === "notready";
      case ContainerEventType.CONTAINER_DELETED_EVENT:
        return container === undefined && sandbox === undefined;
      default:
        return false;
    }
  }
}
