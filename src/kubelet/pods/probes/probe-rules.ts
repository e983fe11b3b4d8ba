import { latest, type MonotonicTime, msBetween, plusMs } from "../../../lib/base/time.ts";
import type { ProbeKind, ProbeOutcome } from "../../state/probe-results.ts";
import type { Probe } from "./prober.ts";

/** The outcome before the first probe: the container gets no traffic, is not killed and does not count as started. */
export const initialOutcome = {
  startup: "unknown",
  liveness: "success",
  readiness: "failure",
} as const satisfies Record<ProbeKind, ProbeOutcome>;

/** How often in a row a probe had the same result. */
export interface ResultRun {
  readonly result: "success" | "failure" | undefined;
  readonly count: number;
}

export const noResults: ResultRun = { result: undefined, count: 0 };

export function countResult(run: ResultRun, result: "success" | "failure"): ResultRun {
  return { result, count: run.result === result ? run.count + 1 : 1 };
}

export function thresholdReached(
  run: ResultRun,
  probe: Pick<Probe, "successThreshold" | "failureThreshold">,
): boolean {
  const threshold = run.result === "success" ? (probe.successThreshold ?? 1) : (probe.failureThreshold ?? 3);
  return run.count >= threshold;
}

/**
 * True if that outcome is final for this container: one that has started remains started, and one that is about to be killed
 * is no longer probed. Probing resumes with the next container.
 */
export function isFinal(kind: ProbeKind, outcome: ProbeOutcome): boolean {
  switch (kind) {
    case "startup":
      return outcome !== "unknown";
    case "liveness":
      return outcome === "failure";
    case "readiness":
      return false;
    default:
      return kind satisfies never;
  }
}

export interface FirstTick {
  kind: ProbeKind;
  now: MonotonicTime;
  containerStartedAt: MonotonicTime;
  /** The ticks of the pod are counted from here: the creation of its sandbox. */
  tickOrigin: MonotonicTime;
  /** The container was already running when its pod was added. */
  foundRunning: boolean;
  initialDelayMs: number;
  periodMs: number;
  /** From 0 to 1. */
  random: () => number;
}

/**
 * When a container is probed first. Readiness and startup are probed as soon as the initial delay has passed. Liveness keeps
 * the ticks of its pod, even across restarts of the container, and skips a tick less than half a period after its start: a
 * program that is still starting must not be killed. The first probes of containers that were found running are spread over
 * one period.
 */
export function firstTick(o: FirstTick): MonotonicTime {
  const afterDelay = latest(o.now, plusMs(o.containerStartedAt, o.initialDelayMs));
  if (o.foundRunning) return latest(afterDelay, plusMs(o.now, o.random() * o.periodMs));
  if (o.kind !== "liveness") return afterDelay;
  const notBefore = latest(afterDelay, plusMs(o.containerStartedAt, o.periodMs / 2));
  const phase = ((msBetween(notBefore, o.tickOrigin) % o.periodMs) + o.periodMs) % o.periodMs;
  return plusMs(notBefore, phase);
}

/**
 * The tick after `tick`. Ticks remain on schedule however long a probe takes; one missed tick is made up for immediately, the
 * others are dropped.
 */
export function nextTick(tick: MonotonicTime, periodMs: number, now: MonotonicTime): MonotonicTime {
  const passed = Math.max(0, Math.floor(msBetween(tick, now) / periodMs));
  return plusMs(tick, (passed + 1) * periodMs);
}
