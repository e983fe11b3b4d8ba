import { whenAborted } from "../../../lib/base/abort.ts";
import { type Clock, msFromNow, msUntil, sleep } from "../../../lib/base/clock.ts";
import type { Component } from "../../../lib/base/component.ts";
import { isAbort, messageOf } from "../../../lib/base/errors.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import { dateOf, type WallTime } from "../../../lib/base/time.ts";
import { endsWithin } from "../../../lib/base/wait.ts";
import type { Pod } from "../../../lib/model/pod.ts";
import type { NodeEvents } from "../../../lib/model/pod-events.ts";
import type { InitialSync } from "../../pipeline/sync-loop/initial-sync.ts";
import type { NodeShutdownState } from "../../state/node-shutdown-state.ts";
import { type DelaySource, raiseInhibitDelay } from "./inhibit-delay.ts";
import { groupPods, type ShutdownGroup, type ShutdownPeriod, totalMs } from "./shutdown-groups.ts";
import type { ShutdownRecord } from "./shutdown-record.ts";
import type { ShutdownReport } from "./shutdown-report.ts";
import { namesOf, type TerminationOptions, terminateGroup } from "./terminate-group.ts";

export interface Logind extends DelaySource {
  /** True while a shutdown waits for locks. */
  isPreparing(signal: AbortSignal): Promise<boolean>;
  inhibit(who: string, why: string, signal: AbortSignal): Promise<{ release(): void }>;
  close(): void;
}

export interface LogindListener {
  readonly onPrepareForShutdown: (isActive: boolean) => void;
  readonly onLost: (why: string) => void;
}

export interface NodeShutdownOptions extends TerminationOptions {
  /** In the order in which pods are terminated; at least one. */
  readonly periods: readonly ShutdownPeriod[];
  /** A connection; it is closed after its `onLost`. */
  readonly logind: (listener: LogindListener) => Logind;
  /** The directory of logind's drop-in files. */
  readonly confDir: string;
  /** All pods that have not terminated. */
  readonly activePods: () => readonly Pod[];
  /** False while the agent does not know all pods yet. */
  readonly initialSync: Pick<InitialSync, "isComplete">;
  readonly state: NodeShutdownState;
  readonly record?: ShutdownRecord | undefined;
  readonly nodeEvents: NodeEvents;
  readonly clock: Clock;
  readonly logger: Logger;
  /** A shutdown was announced or canceled. */
  readonly onChange: () => void;
}

interface Shutdown {
  readonly since: WallTime;
  readonly abort: AbortController;
  group?: ShutdownGroup;
  isFinished: boolean;
  done: Promise<void>;
}

const firstRetryMs = 1000;
const maxRetryMs = 60_000;
/** An agent that was restarted during a shutdown waits this long for the lists of pods. */
const syncWithinMs = 5000;
const pollMs = 100;
/** A disk that hangs does not delay the shutdown any further. */
const storeWithinMs = 2000;

/**
 * Delays shutdowns of the machine until its pods have terminated, by an inhibitor lock of logind: lower priorities first, each group with its own
 * time. A shutdown that is canceled leaves the pods alone that were not terminated yet.
 */
export class NodeShutdown implements Component {
  readonly name = "node-shutdown";
  readonly #o: NodeShutdownOptions;
  #done: Promise<void> = Promise.resolve();
  #lock: { release(): void } | undefined;
  #current: Shutdown | undefined;
  /** Why shutdowns are not delayed; undefined if they are. */
  #problem: string | undefined = "not connected to logind yet";
  #loggedProblem: string | undefined;
  #loggedDelay: string | undefined;

  constructor(options: NodeShutdownOptions) {
    this.#o = options;
  }

  get done(): Promise<void> {
    return this.#done;
  }

  /** Pods run without it, so a machine without logind is not an error. */
  async start(signal: AbortSignal): Promise<void> {
    await this.#o.record?.load();
    this.#done = this.#run(signal);
  }

  report(): ShutdownReport {
    const { periods, record, terminationOf } = this.#o;
    const current = this.#current;
    const left = current?.group?.pods.filter(({ metadata }) => terminationOf(metadata.uid) !== "finished");
    return {
      periods,
      problem: this.#problem,
      ...(current && {
        active: {
          since: current.since,
          ...(!current.isFinished && current.group && { priority: current.group.priority }),
          waitsFor: current.isFinished ? [] : namesOf(left ?? []),
        },
      }),
      last: record?.last,
    };
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#o;
    let retryMs = firstRetryMs;
    while (!signal.aborted) {
      const result = await this.#watch(signal);
      if (result === "canceled") continue;
      retryMs = result === "lost" ? firstRetryMs : Math.min(retryMs * 2, maxRetryMs);
      await sleep(clock, retryMs, signal).catch(() => {});
    }
    const current = this.#current;
    current?.abort.abort();
    await current?.done;
    this.#lock?.release();
  }

  /** Holds a lock and waits for PrepareForShutdown signals, until the connection ends. Never rejects. */
  async #watch(signal: AbortSignal): Promise<"canceled" | "lost" | "failed"> {
    const { logger } = this.#o;
    const ended = Promise.withResolvers<"canceled" | "lost">();
    using _ = whenAborted(signal, () => ended.resolve("lost"));
    const logind = this.#o.logind({
      onPrepareForShutdown: (isActive) => {
        void this.#onPrepareForShutdown(logind, isActive, signal).then((isCanceled) => {
          if (isCanceled) ended.resolve("canceled");
        });
      },
      onLost: (why) => {
        logger.debug(1, "Lost connection to logind, connecting again", { err: why });
        ended.resolve("lost");
      },
    });
    try {
      await this.#inhibit(logind, signal);
      return await ended.promise;
    } catch (error) {
      if (!isAbort(error)) this.#failed(messageOf(error));
      return "failed";
    } finally {
      logind.close();
    }
  }

  #failed(problem: string): void {
    const { logger } = this.#o;
    // While the machine shuts down, the bus and logind are stopped, too.
    if (this.#current) return logger.debug(1, "Lost logind during shutdown", { err: problem });
    this.#problem = problem;
    if (this.#loggedProblem === problem) return;
    this.#loggedProblem = problem;
    logger.error("Failed to start node shutdown manager, pods are not terminated gracefully on shutdown", {
      err: problem,
    });
  }

  async #inhibit(logind: Logind, signal: AbortSignal): Promise<void> {
    const { logger, periods } = this.#o;
    await this.#ensureDelay(logind, signal);
    // The PrepareForShutdown signal may have been missed.
    if (await logind.isPreparing(signal)) return this.#current ? undefined : this.#begin();
    if (this.#current?.isFinished) return;
    // A logind that was restarted has forgotten the shutdown: it no longer waits for this lock.
    if (this.#current) this.#cancel();
    const lock = await logind.inhibit("kubelet", "Kubelet needs time to handle node shutdown", signal);
    this.#lock?.release();
    this.#lock = lock;
    // The PrepareForShutdown signal was received and handled in the meantime.
    if ((this.#current as Shutdown | undefined)?.isFinished) this.#releaseLock();
    if (this.#problem === undefined) return;
    this.#problem = undefined;
    this.#loggedProblem = undefined;
    logger.info("Node shutdown manager started: a shutdown waits for the termination of pods", {
      periods: periods.map(({ priority, seconds }) => `priority ${priority}: ${seconds}s`),
    });
  }

  /** Raises the delay of logind if it is too short. A failure is only logged: a machine that shuts down before all pods have terminated is better than one that waits for none. */
  async #ensureDelay(logind: Logind, signal: AbortSignal): Promise<void> {
    const { confDir, clock, logger, periods } = this.#o;
    const ms = totalMs(periods);
    if ((await logind.inhibitDelayMs(signal)) >= ms) return;
    try {
      await raiseInhibitDelay(logind, { ms, confDir, clock, signal });
    } catch (error) {
      if (isAbort(error)) throw error;
      const err = messageOf(error);
      if (this.#loggedDelay !== err)
        logger.error(
          "Failed to extend logind's inhibit delay, a shutdown may end before pods have terminated",
          {
            err,
            requestedSeconds: ms / 1000,
          },
        );
      this.#loggedDelay = err;
    }
  }

  /**
   * True if a shutdown was canceled: then a new lock is needed. The signal may be late, so logind is queried. If that fails, logind is
   * likely being stopped, and the signal is trusted.
   */
  async #onPrepareForShutdown(logind: Logind, isActive: boolean, signal: AbortSignal): Promise<boolean> {
    const isPreparing = await logind.isPreparing(signal).catch(() => isActive);
    if (isPreparing !== isActive || signal.aborted) return false;
    if (isActive) this.#begin();
    else if (this.#current) {
      this.#cancel();
      return true;
    }
    return false;
  }

  #begin(): void {
    const { clock, logger, nodeEvents, state, onChange } = this.#o;
    if (this.#current && !this.#current.isFinished) return;
    const since = this.#current?.since ?? clock.wall();
    const current: Shutdown = {
      since,
      abort: new AbortController(),
      isFinished: false,
      done: Promise.resolve(),
    };
    this.#current = current;
    state.set(since);
    logger.info("Shutdown manager detected new shutdown event", { event: "shutdown" });
    nodeEvents.normal("Shutdown", "Shutdown manager detected shutdown event");
    onChange();
    current.done = this.#process(current);
  }

  #cancel(): void {
    const { clock, logger, nodeEvents, state, record, onChange } = this.#o;
    const current = this.#current;
    if (!current) return;
    this.#current = undefined;
    current.abort.abort();
    state.set(undefined);
    if (!current.isFinished) void record?.store({ start: current.since, end: clock.wall() });
    logger.info("Shutdown manager detected new shutdown event", { event: "cancelled" });
    nodeEvents.normal("Shutdown", "Shutdown manager detected shutdown cancellation");
    onChange();
  }

  /** Never rejects. */
  async #process(current: Shutdown): Promise<void> {
    const { record, logger, clock } = this.#o;
    const { signal } = current.abort;
    void record?.store({ start: current.since });
    try {
      await this.#untilSynced(signal);
      await this.#terminateAll(current);
    } catch (error) {
      if (!isAbort(error))
        logger.error("Shutdown manager failed to process shutdown event", { err: messageOf(error) });
    }
    if (signal.aborted) return;
    current.isFinished = true;
    const stored = record?.store({ start: current.since, end: clock.wall() });
    if (stored) await endsWithin(clock, storeWithinMs, stored, signal).catch(() => {});
    if (signal.aborted) return;
    logger.info("Shutdown manager completed processing shutdown event, node will shutdown shortly");
    this.#releaseLock();
  }

  async #terminateAll(current: Shutdown): Promise<void> {
    const { periods, activePods, logger } = this.#o;
    const { signal } = current.abort;
    for (const group of groupPods(periods, activePods())) {
      const { priority, seconds } = group;
      current.group = group;
      const fields = { priority, seconds, pods: namesOf(group.pods) };
      logger.info("Shutdown manager terminating pods", fields);
      const detail =
        `node shutdown at ${dateOf(current.since).toISOString()}, ` +
        `${seconds} s for pods of priority ${priority} and above`;
      const left = await terminateGroup(group, { ...this.#o, detail, signal });
      if (left.length === 0) logger.info("Done waiting for all pods in group to terminate", fields);
      else logger.warn("Shutdown manager pod killing time out", { ...fields, pods: namesOf(left) });
    }
  }

  async #untilSynced(signal: AbortSignal): Promise<void> {
    const { clock, initialSync } = this.#o;
    const end = msFromNow(clock, syncWithinMs);
    while (!initialSync.isComplete() && msUntil(clock, end) > 0) await sleep(clock, pollMs, signal);
  }

  #releaseLock(): void {
    this.#lock?.release();
    this.#lock = undefined;
  }
}
