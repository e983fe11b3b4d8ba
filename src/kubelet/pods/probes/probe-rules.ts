import { latest, type MonotonicTime, msBetween, plusMs } from "../../../lib/base/time.ts";
import type { ProbeKind, ProbeOutcome } from "../../state/probe-results.ts";
import type { Probe } from "./prober.ts";

/** What counts before the first probes: nobody sends requests to it, nobody kills it, nobody calls it started. */
export const initialOutcome = {
  startup: "unknown",
  liveness: "success",
  readiness: "failure",
} as const satisfies Record<ProbeKind, ProbeOutcome>;

/** How often in a row a container has given the same answer. */
export interface Tally {
  readonly answer: "success" | "failure" | undefined;
  readonly run: number;
}

export const noTally: Tally = { answer: undefined, run: 0 };

export function counted(tally: Tally, answer: "success" | "failure"): Tally {
  return { answer, run: tally.answer === answer ? tally.run + 1 : 1 };
}

/** True if the answer was given often enough to be believed. */
export function believed(tally: Tally, probe: Pick<Probe, "successThreshold" | "failureThreshold">): boolean {
  const threshold =
    tally.answer === "success" ? (probe.successThreshold ?? 1) : (probe.failureThreshold ?? 3);
  return tally.run >= threshold;
}

/**
 * True if that outcome is the last word on this container: one that has started stays started, and one that is about to
 * be killed is left in peace. Probing goes on with the container that comes after it.
 */
export function isLastWord(kind: ProbeKind, outcome: ProbeOutcome): boolean {
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
  /** A moment from which the ticks of the pod are counted: the creation of its sandbox. */
  rhythm: MonotonicTime;
  /** The container was already running when its pod arrived. */
  found: boolean;
  initialDelayMs: number;
  periodMs: number;
  /** From 0 to 1. */
  random: () => number;
}

/**
 * When a container is probed first. Readiness and startup are probed as soon as the initial delay is over. Liveness keeps
 * the rhythm of its pod, over restarts of the container too, and leaves out a tick that comes less than half a period after
 * its start: a program that is still starting must not be killed. The probes of containers that were found running are
 * spread over one period, so that they are not all made at once.
 */
export function firstTick(o: FirstTick): MonotonicTime {
  const afterDelay = latest(o.now, plusMs(o.containerStartedAt, o.initialDelayMs));
  if (o.found) return latest(afterDelay, plusMs(o.now, o.random() * o.periodMs));
  if (o.kind !== "liveness") return afterDelay;
  const notBefore = latest(afterDelay, plusMs(o.containerStartedAt, o.periodMs / 2));
  const phase = ((msBetween(notBefore, o.rhythm) % o.periodMs) + o.periodMs) % o.periodMs;
  return plusMs(notBefore, phase);
}

/**
 * The tick after `tick`. Ticks keep their rhythm however long a probe takes; of those that passed meanwhile one is made
 * up for, at once, and the others are dropped.
 */
export function nextTick(tick: MonotonicTime, periodMs: number, now: MonotonicTime): MonotonicTime {
  const passed = Math.max(0, Math.floor(msBetween(tick, now) / periodMs));
  return plusMs(tick, (passed + 1) * periodMs);
}
