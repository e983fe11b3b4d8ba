import { type MonotonicTime, msBetween, plusMs, type WallTime } from "../../../lib/base/time.ts";
import type { ThresholdState } from "../../../lib/model/threshold-state.ts";
import type { PressureCondition } from "../../state/node-pressure.ts";
import { amountText } from "./amount-text.ts";
import type { PressureState } from "./pressure.ts";
import { conditionOf, type Observations, resourceOf, type Signal } from "./signals.ts";
import { isHard, type Threshold, unitsOf } from "./thresholds.ts";

/** The state of eviction on this node, for explanations. */
export interface EvictionReport {
  readonly conditions: readonly {
    readonly type: PressureCondition;
    /** The condition ends after this time if no threshold is met again; undefined while one is met. */
    readonly endsInSeconds?: number;
  }[];
  /** Which thresholds caused the conditions; "" if there are none. */
  readonly cause: string;
  readonly thresholds: readonly ThresholdState<Signal>[];
  readonly lastEviction?: { readonly pod: string; readonly why: string; readonly at: WallTime } | undefined;
}

export function reportOf(o: {
  readonly thresholds: readonly Threshold[];
  readonly observations: Observations;
  readonly conditions: readonly PressureCondition[];
  readonly state: PressureState;
  readonly cause: string;
  readonly lastEviction: EvictionReport["lastEviction"];
  readonly transitionMs: number;
  readonly now: MonotonicTime;
}): EvictionReport {
  const { observations, state, now } = o;
  const seconds = (until: MonotonicTime) => Math.max(0, Math.ceil(msBetween(now, until) / 1000));
  return {
    conditions: o.conditions.map((type) => {
      const at = state.lastObserved.get(type);
      const isMet = [...state.metSince.keys()].some((t) => conditionOf(t.signal) === type);
      return isMet || at === undefined
        ? { type }
        : { type, endsInSeconds: seconds(plusMs(at, o.transitionMs)) };
    }),
    cause: o.cause,
    thresholds: o.thresholds.map((threshold) => {
      const { signal, value, graceMs } = threshold;
      const found = observations.get(signal);
      const resource = resourceOf(signal);
      const since = state.metSince.get(threshold);
      return {
        signal,
        kind: isHard(threshold) ? "hard" : "soft",
        value: value.text,
        ...(found && {
          threshold: amountText(resource, unitsOf(value, found.capacity)),
          available: amountText(resource, found.available),
          capacity: amountText(resource, found.capacity),
        }),
        met: since !== undefined,
        ...(since !== undefined &&
          !isHard(threshold) && { evictsInSeconds: seconds(plusMs(since, graceMs)) }),
      };
    }),
    ...(o.lastEviction && { lastEviction: o.lastEviction }),
  };
}
