import { type MonotonicTime, msBetween } from "../../../lib/base/time.ts";
import type { PressureCondition } from "../../state/node-pressure.ts";
import { conditionOf, type Observations } from "./signals.ts";
import { type Threshold, thresholdsMet } from "./thresholds.ts";

/** The state between two measurements. */
export interface PressureState {
  /** When each threshold was first met. */
  readonly metSince: ReadonlyMap<Threshold, MonotonicTime>;
  /** When a condition was last observed. */
  readonly lastObserved: ReadonlyMap<PressureCondition, MonotonicTime>;
  /** Thresholds whose grace period is over and which are not resolved. */
  readonly unresolved: readonly Threshold[];
}

export const noPressure: PressureState = { metSince: new Map(), lastObserved: new Map(), unresolved: [] };

export interface Pressure {
  readonly state: PressureState;
  /** The conditions that the node reports: observed now, or within the transition period. */
  readonly conditions: readonly PressureCondition[];
  /** Thresholds that require reclaiming resources now. */
  readonly toReclaim: readonly Threshold[];
}

/** One measurement. Pure. */
export function observePressure(
  previous: PressureState,
  o: {
    readonly thresholds: readonly Threshold[];
    readonly observations: Observations;
    readonly now: MonotonicTime;
    readonly transitionMs: number;
  },
): Pressure {
  const { thresholds, observations, now, transitionMs } = o;
  // A threshold that was met remains so until the minimum reclaim is available too.
  const met = new Set([
    ...thresholdsMet(thresholds, observations, { minReclaim: false }),
    ...thresholdsMet(previous.unresolved, observations, { minReclaim: true }),
  ]);
  const metSince = new Map([...met].map((t) => [t, previous.metSince.get(t) ?? now]));
  const lastObserved = new Map(previous.lastObserved);
  for (const { signal } of met) lastObserved.set(conditionOf(signal), now);
  const toReclaim = [...met].filter((t) => msBetween(metSince.get(t)!, now) >= t.graceMs);
  return {
    state: { metSince, lastObserved, unresolved: toReclaim },
    conditions: [...lastObserved].filter(([, at]) => msBetween(at, now) < transitionMs).map(([type]) => type),
    toReclaim,
  };
}
