import type { Clock } from "../../../lib/base/clock.ts";
import { type Component, type Health, healthy } from "../../../lib/base/component.ts";
import { messageOf } from "../../../lib/base/errors.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import { type Pod, type PodSourceName, type PodUid, podRef } from "../../../lib/model/pod.ts";

export interface PodChange {
  op: "ADD" | "UPDATE" | "REMOVE" | "RECONCILE" | "DELETE";
  source: PodSourceName;
  pods: readonly Pod[];
}

export type SyncEvent =
  | { kind: "pods"; change: PodChange }
  | { kind: "runtime"; uid: PodUid; what: string }
  | { kind: "runtime-up" }
  | { kind: "probe"; uid: PodUid; what: string }
  | { kind: "tick" };

export interface SyncLoopOptions {
  clock: Clock;
  logger: Logger;
  desired: { set(pod: Pod): void; remove(uid: PodUid): void };
  workers: {
    /** `news`: what of it has changed. */
    update(pod: Pod, news: "spec" | "status"): void;
    terminate(uid: PodUid, options: { removed: boolean; graceSeconds?: number }): void;
    poke(uid: PodUid): void;
    pokeAll(): void;
  };
  /** What a source wants was passed on for the first time. */
  onHeard?: (source: PodSourceName) => void;
  /** How late the loop was: a tick after its time, or events after they were posted. */
  onLag?: (ms: number) => void;
}

const tickMs = 1000;
const unhealthyAfterMs = 2 * 60_000;

/** Takes what happened, in order, and tells who has to act on it. Never waits for anything. */
export class SyncLoop implements Component {
  readonly name = "syncloop";
  readonly #o: SyncLoopOptions;
  #queue: SyncEvent[] = [];
  #scheduled = false;
  #running = false;
  #lastTickAt = 0;
  #cancelTick: (() => void) | undefined;
  #heard = new Set<PodSourceName>();
  #ended = Promise.withResolvers<void>();

  constructor(options: SyncLoopOptions) {
    this.#o = options;
  }

  get done(): Promise<void> {
    return this.#ended.promise;
  }

  async start(signal: AbortSignal): Promise<void> {
    this.#running = true;
    this.#lastTickAt = this.#o.clock.now();
    this.#scheduleTick();
    signal.addEventListener("abort", () => {
      this.#running = false;
      this.#cancelTick?.();
      this.#ended.resolve();
    });
    this.#schedule();
  }

  health(): Health {
    const idleMs = this.#o.clock.now() - this.#lastTickAt;
    if (idleMs <= unhealthyAfterMs) return healthy;
    return {
      ok: false,
      reason: `sync loop was last seen active ${Math.round(idleMs / 1000)}s ago; threshold is 2m0s`,
    };
  }

  /** True once what the source wants was not only said but also passed on: before that, its pods look like nobody's. */
  hasHeard(source: PodSourceName): boolean {
    return this.#heard.has(source);
  }

  post(event: SyncEvent): void {
    this.#queue.push(event);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#scheduled || !this.#running || this.#queue.length === 0) return;
    this.#scheduled = true;
    const due = this.#o.clock.now();
    setImmediate(() => {
      this.#scheduled = false;
      if (!this.#running) return;
      this.#o.onLag?.(Math.max(0, this.#o.clock.now() - due));
      const batch = this.#queue;
      this.#queue = [];
      for (const event of batch) this.#safely(event.kind, () => this.#dispatch(event));
    });
  }

  #scheduleTick(): void {
    const { clock } = this.#o;
    const due = clock.now() + tickMs;
    this.#cancelTick = clock.after(tickMs, () => {
      this.#o.onLag?.(Math.max(0, clock.now() - due));
      this.post({ kind: "tick" });
      this.#scheduleTick();
    });
  }

  /** A fault costs one event or one pod at most, never the loop. */
  #safely(kind: string, dispatch: () => void): void {
    try {
      dispatch();
    } catch (error) {
      this.#o.logger.error("Dispatching an event failed", { kind, err: messageOf(error) });
    }
  }

  #dispatch(event: SyncEvent): void {
    const { workers, logger, clock } = this.#o;
    switch (event.kind) {
      case "pods":
        return this.#dispatchPods(event.change);
      case "runtime":
        logger.debug(4, "Pod changed in the runtime", { podUID: event.uid, event: event.what });
        return workers.poke(event.uid);
      case "probe":
        logger.debug(4, "A probe came to another result", { podUID: event.uid, event: event.what });
        return workers.poke(event.uid);
      case "runtime-up":
        return workers.pokeAll();
      case "tick":
        this.#lastTickAt = clock.now();
        return;
      default:
        event satisfies never;
    }
  }

  #dispatchPods({ op, source, pods }: PodChange): void {
    const { logger } = this.#o;
    const isFirst = !this.#heard.has(source);
    this.#heard.add(source);
    logger.debug(2, `SyncLoop ${op}`, { source, pods: pods.map(podRef) });
    for (const pod of pods) this.#safely(`pods ${op}`, () => this.#dispatchPod(op, pod));
    if (isFirst) this.#o.onHeard?.(source);
  }

  #dispatchPod(op: PodChange["op"], pod: Pod): void {
    const { desired, workers } = this.#o;
    const { uid, deletionGracePeriodSeconds: graceSeconds } = pod.metadata;
    switch (op) {
      case "ADD":
      case "UPDATE":
      case "RECONCILE":
      // A pod that is being deleted says so itself; its worker may also hear of it first in this way.
      case "DELETE":
        desired.set(pod);
        return workers.update(pod, op === "RECONCILE" ? "status" : "spec");
      case "REMOVE":
        desired.remove(uid);
        return workers.terminate(uid, { removed: true, graceSeconds });
      default:
        op satisfies never;
    }
  }
}
