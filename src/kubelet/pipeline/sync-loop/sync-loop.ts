import { whenAborted } from "../../../lib/base/abort.ts";
import { type Clock, msSince } from "../../../lib/base/clock.ts";
import type { Component } from "../../../lib/base/component.ts";
import { messageOf } from "../../../lib/base/errors.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import { type MonotonicTime, plusMs } from "../../../lib/base/time.ts";
import { podRef } from "../../../lib/model/pod.ts";
import { type EventHandlers, handlersOf, type RowHandler } from "./event-table.ts";
import type { EventKind, KubeletEvent } from "./events.ts";

export interface SyncLoopOptions {
  clock: Clock;
  logger: Logger;
  /** The lag of the loop: of a tick after its due time, or of an event after it was posted. */
  onLag?: (ms: number) => void;
}

const tickMs = 1000;
/** After this many events in a row the loop yields to I/O. */
const maxBatch = 10_000;

/**
 * The only fan-out of events. Handles them in the order in which they were posted and runs the handlers of the event table. It never
 * waits, and it never runs a handler while another runs.
 *
 * The queue is drained in the next microtask. So a caller that awaits a promise that settled after a post continues after the
 * handlers of it: a worker that has refreshed its pod finds the status of what was observed.
 */
export class SyncLoop implements Component {
  readonly name = "syncloop";
  readonly #o: SyncLoopOptions;
  #handlers: Readonly<Record<EventKind, readonly RowHandler[]>> = handlersOf({});
  #queue: { event: KubeletEvent; postedAt: MonotonicTime }[] = [];
  #scheduled = false;
  #running = false;
  #cancelTick: (() => void) | undefined;
  #done = Promise.withResolvers<void>();

  constructor(options: SyncLoopOptions) {
    this.#o = options;
  }

  get done(): Promise<void> {
    return this.#done.promise;
  }

  /** Call it once, before the start. Events that are posted before the start wait for it. */
  subscribe(handlers: Partial<EventHandlers>): void {
    this.#handlers = handlersOf(handlers);
  }

  async start(signal: AbortSignal): Promise<void> {
    this.#running = true;
    this.#scheduleTick();
    whenAborted(signal, () => {
      this.#running = false;
      this.#cancelTick?.();
      this.#done.resolve();
    });
    this.#schedule(queueMicrotask);
  }

  readonly post = (event: KubeletEvent): void => {
    this.#queue.push({ event, postedAt: this.#o.clock.monotonic() });
    this.#schedule(queueMicrotask);
  };

  #schedule(later: (drain: () => void) => void): void {
    if (this.#scheduled || !this.#running || this.#queue.length === 0) return;
    this.#scheduled = true;
    later(() => this.#drain());
  }

  #drain(): void {
    const { clock, onLag } = this.#o;
    let handled = 0;
    // Events that are posted in the meantime are handled too.
    for (const { event, postedAt } of this.#queue) {
      if (handled >= maxBatch || !this.#running) break;
      handled++;
      onLag?.(Math.max(0, msSince(clock, postedAt)));
      this.#dispatch(event);
    }
    this.#queue.splice(0, handled);
    this.#scheduled = false;
    this.#schedule(setImmediate);
  }

  #dispatch(event: KubeletEvent): void {
    this.#log(event);
    for (const { handler, handle } of this.#handlers[event.kind]) {
      try {
        handle(event as never);
      } catch (error) {
        // It affects only this handler of this event.
        const podUID = "uid" in event ? event.uid : undefined;
        const fields = { event: event.kind, handler, ...(podUID && { podUID }), err: messageOf(error) };
        this.#o.logger.error("Failed to handle event", fields);
      }
    }
  }

  #scheduleTick(): void {
    const { clock } = this.#o;
    const due = plusMs(clock.monotonic(), tickMs);
    this.#cancelTick = clock.after(tickMs, () => {
      this.#o.onLag?.(Math.max(0, msSince(clock, due)));
      this.post({ kind: "tick" });
      this.#scheduleTick();
    });
  }

  #log(event: KubeletEvent): void {
    const { logger } = this.#o;
    if (event.kind === "pods-changed") {
      const { op, source, pods } = event.change;
      logger.debug(2, `SyncLoop ${op}`, { source, pods: pods.map(podRef) });
    } else if (event.kind === "runtime-observed")
      logger.debug(4, "Pod changed in the runtime", { podUID: event.uid, event: event.what });
    else if (event.kind === "probe-result") {
      const { kind, outcome } = event.result;
      logger.debug(4, "Probe result changed", { podUID: event.uid, event: `${kind} ${outcome}` });
    }
  }
}
