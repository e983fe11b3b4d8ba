import { isDeepStrictEqual } from "node:util";
import { type Clock, monotonicOf, msSince, msUntil } from "../../../lib/base/clock.ts";
import { isAbort, messageOf } from "../../../lib/base/errors.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import { latest, type MonotonicTime, type WallTime } from "../../../lib/base/time.ts";
import type { ContainerId } from "../../../lib/clients/cri/cri.ts";
import { type Container, type Pod, type PodUid, podRef } from "../../../lib/model/pod.ts";
import type { PodEvents } from "../../../lib/model/pod-events.ts";
import type { ObservedPod } from "../../state/observed-pods.ts";
import type { ProbeKind, ProbeOutcome, ProbeResults } from "../../state/probe-results.ts";
import { type AttemptResult, probeError } from "./attempt-result.ts";
import { kindNames, type Probed, type ProbeMetrics } from "./probe-metrics.ts";
import {
  countResult,
  firstTick,
  initialOutcome,
  isFinal,
  nextTick,
  noResults,
  thresholdReached,
} from "./probe-rules.ts";
import { podAddress } from "./probe-target.ts";
import type { Probe, Prober } from "./prober.ts";
import {
  absent,
  containerIdOf,
  type RunningTarget,
  type TargetState,
  targetStateOf,
} from "./target-state.ts";

export interface WorkerContext {
  clock: Clock;
  logger: Logger;
  metrics: ProbeMetrics;
  results: ProbeResults;
  events: PodEvents;
  observed: { get(uid: PodUid): ObservedPod | undefined };
  prober: Prober;
  hostIps: () => readonly string[];
  random: () => number;
  /** The last known outcome of a container that was running before its pod was added. */
  previousOutcome: (kind: ProbeKind, pod: Pod, id: ContainerId) => ProbeOutcome | undefined;
  /** The container passed its startup probe: its other probes may start. */
  onStarted: (uid: PodUid) => void;
  /** Registers running work, which the manager waits for when it stops. */
  track: (work: Promise<void>) => void;
}

/** The last failure of a probe that does not pass. */
export interface ProbeFailure {
  readonly kind: ProbeKind;
  readonly container: string;
  /** Output or error message of the last attempt, and when it was made. */
  readonly text: string;
  /** The exit code of the command of an exec probe. */
  readonly exitCode?: number;
  readonly at: WallTime;
  /** How often in a row. */
  readonly times: number;
}

/** Enough to see what is wrong; the output of a probe may be a whole page. */
const maxFailureLength = 300;

/**
 * One probe of one container of the spec, for all its successive containers in the runtime. It has a timer only while a
 * container is probed; all other changes reach it through `sync`.
 */
export class ProbeWorker {
  readonly #c: WorkerContext;
  readonly #kind: ProbeKind;
  readonly #probe: Probe;
  #pod: Pod;
  #container: Container;
  /** A container that was started before was found running. */
  readonly addedAt: MonotonicTime;
  #target: TargetState = absent;
  #run = noResults;
  #onHold = false;
  #awaitsStartup = false;
  #tick: MonotonicTime;
  /** When the container started and its sandbox was created: converted once, so that setting the clock moves no probes. */
  #started: { id: ContainerId; at: MonotonicTime } | undefined;
  #tickOrigin: { of: WallTime; from: MonotonicTime } | undefined;
  #cancelTimer: (() => void) | undefined;
  #inFlight: AbortController | undefined;
  #stopped = false;
  #lastFailure: ProbeFailure | undefined;

  constructor(
    context: WorkerContext,
    of: { kind: ProbeKind; pod: Pod; container: Container; probe: Probe; addedAt?: MonotonicTime },
  ) {
    this.#c = context;
    this.#kind = of.kind;
    this.#pod = of.pod;
    this.#container = of.container;
    this.#probe = of.probe;
    this.#tick = context.clock.monotonic();
    this.addedAt = of.addedAt ?? this.#tick;
  }

  hasProbe(probe: Probe): boolean {
    return isDeepStrictEqual(this.#probe, probe);
  }

  update(pod: Pod, container: Container): void {
    this.#pod = pod;
    this.#container = container;
  }

  /** The observed pod, or the outcome of its startup probe, may have changed. */
  sync(): void {
    if (this.#stopped) return;
    const { results, observed } = this.#c;
    const uid = this.#pod.metadata.uid;
    const previousTarget = this.#target;
    const target = targetStateOf(observed.get(uid), this.#container.name);
    this.#target = target;
    const isNew = containerIdOf(previousTarget) !== containerIdOf(target);
    if (isNew) this.#replaceTarget(previousTarget, target);
    if (target.kind !== "running") {
      this.#pause();
      if (target.kind === "ended" && this.#kind === "readiness")
        results.set({ uid, id: target.id, kind: "readiness", outcome: "failure" });
      return;
    }
    if (isNew || previousTarget.kind !== "running") {
      this.#run = noResults;
      this.#tick = this.#firstTick(target, this.#isFoundRunning(target));
    }
    if (!this.#isStarted(target.id)) {
      this.#awaitsStartup = true;
      return this.#pause();
    }
    if (this.#awaitsStartup) {
      this.#awaitsStartup = false;
      this.#tick = this.#firstTick(target, false);
    }
    this.#schedule();
  }

  /**
   * Applies a previous outcome that became known only after the container was found; results of its own probes win. In two
   * steps for all workers of a pod: listeners see either no change or all of them.
   */
  restore(): (() => void) | undefined {
    const target = this.#target;
    if (this.#stopped || target.kind !== "running" || this.#run !== noResults) return undefined;
    const known = this.#previousOutcome(target);
    if (known === undefined) return undefined;
    this.#c.results.delete(this.#kind, target.id);
    return () => {
      this.#setOutcome(target.id, known);
      if (this.#onHold) this.#pause();
    };
  }

  /** No more probes; the results are kept. */
  stop(): void {
    if (this.#stopped) return;
    this.#stopped = true;
    this.#pause();
    this.#c.metrics.remove(this.#of);
  }

  /** No more probes, and no results. */
  remove(): void {
    this.stop();
    const id = containerIdOf(this.#target);
    if (id) this.#c.results.delete(this.#kind, id);
  }

  /** Undefined while it passes, or was never probed. */
  get lastFailure(): ProbeFailure | undefined {
    return this.#lastFailure;
  }

  get #of(): Probed {
    return { pod: this.#pod, container: this.#container.name, kind: this.#kind };
  }

  get #fields() {
    return { pod: podRef(this.#pod), podUID: this.#pod.metadata.uid, container: this.#container.name };
  }

  get #periodMs(): number {
    return (this.#probe.periodSeconds || 10) * 1000;
  }

  /** Results of the previous container do not apply to its successor. */
  #replaceTarget(previousTarget: TargetState, target: TargetState): void {
    this.#pause();
    this.#awaitsStartup = false;
    this.#lastFailure = undefined;
    const previousId = containerIdOf(previousTarget);
    if (previousId) this.#c.results.delete(this.#kind, previousId);
    if (target.kind === "absent") return;
    this.#setOutcome(target.id, this.#previousOutcome(target) ?? initialOutcome[this.#kind]);
  }

  #setOutcome(id: ContainerId, outcome: ProbeOutcome): void {
    this.#onHold = isFinal(this.#kind, outcome);
    this.#c.results.set({ uid: this.#pod.metadata.uid, id, kind: this.#kind, outcome });
  }

  #isFoundRunning(target: TargetState): boolean {
    return target.kind === "running" && this.#startOf(target) < this.addedAt;
  }

  #previousOutcome(target: TargetState): ProbeOutcome | undefined {
    if (target.kind !== "running" || this.#kind === "liveness" || !this.#isFoundRunning(target))
      return undefined;
    const known = this.#c.previousOutcome(this.#kind, this.#pod, target.id);
    // A container is not killed for the result of another agent.
    return known === "success" || this.#kind === "readiness" ? known : undefined;
  }

  #isStarted(id: ContainerId): boolean {
    if (this.#kind === "startup" || !this.#container.startupProbe) return true;
    return this.#c.results.get("startup", id) === "success";
  }

  #startOf({ id, startedAt }: RunningTarget): MonotonicTime {
    if (this.#started?.id !== id) this.#started = { id, at: monotonicOf(this.#c.clock, startedAt) };
    return this.#started.at;
  }

  #tickOriginOf({ sandboxCreatedAt: of }: RunningTarget): MonotonicTime {
    if (this.#tickOrigin?.of !== of) this.#tickOrigin = { of, from: monotonicOf(this.#c.clock, of) };
    return this.#tickOrigin.from;
  }

  #firstTick(target: RunningTarget, foundRunning: boolean): MonotonicTime {
    return firstTick({
      kind: this.#kind,
      now: this.#c.clock.monotonic(),
      containerStartedAt: this.#startOf(target),
      tickOrigin: this.#tickOriginOf(target),
      foundRunning,
      initialDelayMs: (this.#probe.initialDelaySeconds ?? 0) * 1000,
      periodMs: this.#periodMs,
      random: this.#c.random,
    });
  }

  #pause(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#inFlight?.abort();
    this.#inFlight = undefined;
  }

  #schedule(): void {
    if (
      this.#onHold ||
      this.#inFlight ||
      this.#cancelTimer ||
      this.#stopped ||
      this.#target.kind !== "running"
    )
      return;
    const { clock } = this.#c;
    this.#cancelTimer = clock.after(Math.max(0, msUntil(clock, this.#tick)), () => {
      this.#cancelTimer = undefined;
      // A timer may be a little early.
      const now = latest(clock.monotonic(), this.#tick);
      this.#tick = nextTick(this.#tick, this.#periodMs, now);
      this.#attempt();
    });
  }

  #attempt(): void {
    if (this.#target.kind !== "running") return;
    const { clock, logger, prober, observed, hostIps } = this.#c;
    const attempt = new AbortController();
    this.#inFlight = attempt;
    const startedAt = clock.monotonic();
    const podIp = podAddress(this.#pod, observed.get(this.#pod.metadata.uid), hostIps());
    const handle = (result: AttemptResult) => {
      // This attempt was aborted, because the container is gone or was replaced.
      if (this.#inFlight !== attempt) return;
      this.#inFlight = undefined;
      try {
        this.#handle(result, msSince(clock, startedAt) / 1000);
      } catch (error) {
        // An error of a listener for results or events is no reason to stop probing.
        logger.error("Failed to report probe result", { ...this.#fields, err: messageOf(error) });
      }
      this.#schedule();
    };
    const { signal } = attempt;
    const attempted = prober({
      probe: this.#probe,
      container: this.#container,
      id: this.#target.id,
      podIp,
      signal,
    });
    this.#c.track(
      attempted.then(handle, (error: unknown) => {
        if (!isAbort(error)) handle(probeError(messageOf(error)));
      }),
    );
  }

  #handle(result: AttemptResult, seconds: number): void {
    if (this.#target.kind !== "running") return;
    this.#report(result);
    this.#lastFailure = this.#failureOf(result);
    if (result.kind === "error") return;
    const outcome = result.kind === "failure" ? "failure" : "success";
    this.#c.metrics.record(this.#of, outcome, seconds);
    this.#run = countResult(this.#run, outcome);
    if (!thresholdReached(this.#run, this.#probe)) return;
    this.#setOutcome(this.#target.id, outcome);
    if (this.#kind === "startup" && outcome === "success") this.#c.onStarted(this.#pod.metadata.uid);
  }

  #failureOf(result: AttemptResult): ProbeFailure | undefined {
    if (result.kind === "success" || result.kind === "warning") return undefined;
    const text = result.kind === "error" ? result.message : result.output;
    return {
      kind: this.#kind,
      container: this.#container.name,
      text: text.slice(0, maxFailureLength),
      ...(result.kind === "failure" && result.exitCode !== undefined && { exitCode: result.exitCode }),
      at: this.#c.clock.wall(),
      times: (this.#lastFailure?.times ?? 0) + 1,
    };
  }

  #report(result: AttemptResult): void {
    const { events, logger } = this.#c;
    const what = `${kindNames[this.#kind]} probe`;
    const { name } = this.#container;
    const fields = this.#fields;
    switch (result.kind) {
      case "success":
        return logger.debug(3, `${what} succeeded`, fields);
      case "warning":
        return events.warning(this.#pod, "ProbeWarning", `${what} warning: ${result.output}`, name);
      case "failure":
        logger.debug(1, `${what} failed`, { ...fields, output: result.output });
        return events.warning(this.#pod, "Unhealthy", `${what} failed: ${result.output}`, name);
      case "error": {
        const { state, message } = result;
        logger.debug(1, `${what} errored`, { ...fields, err: message });
        const text = `${what} errored and resulted in ${state} state: ${message}`;
        return events.warning(this.#pod, "Unhealthy", text, name);
      }
      default:
        return result satisfies never;
    }
  }
}
