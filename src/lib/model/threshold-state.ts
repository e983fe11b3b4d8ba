/** An eviction threshold and what was measured for it. Amounts are quantities; absent: not measured yet. */
export interface ThresholdState<Signal extends string = string> {
  readonly signal: Signal;
  readonly kind: "hard" | "soft";
  /** As configured. */
  readonly value: string;
  readonly threshold?: string;
  readonly available?: string;
  readonly capacity?: string;
  readonly met: boolean;
  /** Until pods are evicted because of a soft threshold that is met. */
  readonly evictsInSeconds?: number;
}
