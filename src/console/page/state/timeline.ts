import type { TimelineStep } from "../../protocol.ts";

export interface TimelineBar {
  readonly step: TimelineStep;
  /** Shares of the width of the timeline, from 0 to 1. */
  readonly left: number;
  readonly width: number;
  /** In seconds. */
  readonly duration: number;
  readonly state: "done" | "failed" | "running";
}

/** Longer steps, and longer gaps between steps, are drawn shortened. */
const longStepMs = 5_000;
const longGapMs = 1_000;

/** Places each step on a common axis. Long times are shortened, so that short steps remain visible. */
export function timelineBars(steps: readonly TimelineStep[], now: number): TimelineBar[] {
  const spans = steps.map((step) => ({
    from: step.startedAt,
    to: Math.max(step.startedAt, step.endedAt ?? now),
  }));
  const place = compressed(spans);
  const total = Math.max(1, ...spans.map(({ to }) => place(to)));
  return steps.map((step, index) => {
    const { from, to } = spans[index]!;
    return {
      step,
      left: place(from) / total,
      width: (place(to) - place(from)) / total,
      duration: (to - from) / 1000,
      state: step.error ? "failed" : step.endedAt === null ? "running" : "done",
    };
  });
}

/** A function from time to position. It grows with time, but the longer a part takes, the less. */
function compressed(spans: readonly { from: number; to: number }[]): (time: number) => number {
  const times = [...new Set(spans.flatMap(({ from, to }) => [from, to]))].sort((a, b) => a - b);
  const positions = new Map<number, number>();
  let position = 0;
  for (const [index, time] of times.entries()) {
    const before = times[index - 1];
    if (before !== undefined) {
      const busy = spans.some(({ from, to }) => from <= before && to >= time);
      position += busy ? shortened(time - before) : Math.min(longGapMs, time - before);
    }
    positions.set(time, position);
  }
  return (time) => positions.get(time) ?? 0;
}

const shortened = (ms: number): number =>
  ms <= longStepMs ? ms : longStepMs * (1 + 0.15 * Math.log2(ms / longStepMs));
