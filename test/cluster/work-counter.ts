import type { TestContext } from "node:test";
import { StatusManager } from "../../src/kubelet/pipeline/status-manager/status-manager.ts";
import type { EventHandlers } from "../../src/kubelet/pipeline/sync-loop/event-table.ts";
import type { KubeletEvent } from "../../src/kubelet/pipeline/sync-loop/events.ts";
import { SyncLoop } from "../../src/kubelet/pipeline/sync-loop/sync-loop.ts";
import type { Clock } from "../../src/lib/base/clock.ts";
import type { TestCluster } from "./cluster-node.ts";

/** How often each thing was done: requests by kind, calls by method, `event <kind>`, and those below. */
export type Counts = Record<string, number>;

export const statusComputations = "status computations";
export const timersFired = "timers fired";

/** Periodic work of the node waits at least this long; a pod's life has shorter timers only. */
const shortMs = 1000;

/**
 * Counts the work of agents of this process. Create it before the agent, pass `clock` to it, and count what happens between `start` and the
 * call of the function that it returns.
 */
export class WorkCounter {
  readonly clock: Clock;
  readonly #counts: Counts = {};
  #lastEvent: KubeletEvent | undefined;

  /** `timers` are the timers that count: in real time, periodic timers would depend on how long a test takes. */
  constructor(t: TestContext, clock: Clock, timers: "short" | "all") {
    this.clock = {
      wall: () => clock.wall(),
      monotonic: () => clock.monotonic(),
      after: (ms, callback) =>
        clock.after(ms, () => {
          if (timers === "all" || ms < shortMs) this.#count(timersFired);
          callback();
        }),
    };
    const counter = this;
    const { refresh } = StatusManager.prototype;
    t.mock.method(StatusManager.prototype, "refresh", function (this: StatusManager, ...args) {
      counter.#count(statusComputations);
      refresh.apply(this, args);
    } as typeof refresh);
    const { subscribe } = SyncLoop.prototype;
    t.mock.method(SyncLoop.prototype, "subscribe", function (this: SyncLoop, handlers) {
      subscribe.call(this, counter.#counted(handlers));
    } as typeof subscribe);
  }

  /** Adds to a count, as if the agent had done it. */
  add(what: string): void {
    this.#count(what);
  }

  /** The returned function gives the counts since then. */
  start({ api, runtime }: TestCluster): () => Counts {
    const before = { ...this.#counts };
    const [requests, calls] = [api.requests.length, runtime.calls.length];
    return () => {
      const counts: Counts = {};
      for (const [what, count] of Object.entries(this.#counts))
        if (count > (before[what] ?? 0)) counts[what] = count - (before[what] ?? 0);
      const add = (what: string) => {
        counts[what] = (counts[what] ?? 0) + 1;
      };
      for (const request of api.requests.slice(requests)) add(kindOf(request));
      for (const { method } of runtime.calls.slice(calls)) add(method);
      return counts;
    };
  }

  #count(what: string): void {
    this.#counts[what] = (this.#counts[what] ?? 0) + 1;
  }

  /** An event has several handlers and counts once. */
  #counted(handlers: Partial<EventHandlers>): Partial<EventHandlers> {
    type Handle = (event: KubeletEvent) => void;
    const wrap = (handle: Handle): Handle => {
      return (event) => {
        // The tick of the loop depends on the time only, and its timer is counted.
        if (event !== this.#lastEvent && event.kind !== "tick") this.#count(`event ${event.kind}`);
        this.#lastEvent = event;
        handle(event);
      };
    };
    const counted = Object.entries(handlers).map(([handler, byKind]) => [
      handler,
      Object.fromEntries(
        Object.entries(byKind as Record<string, Handle>).map(([kind, handle]) => [kind, wrap(handle)]),
      ),
    ]);
    return Object.fromEntries(counted) as Partial<EventHandlers>;
  }
}

/** "PATCH pods/status" */
export function kindOf(request: string): string {
  const [method = "", resource = "", path = ""] = request.split(" ");
  return `${method} ${resource}${/[^/]\/status$/.test(path) ? "/status" : ""}`;
}
