import type { TimelineStep } from "../../protocol.ts";

/** Equal steps in one row: the attempts of a step that is retried, or the waits between them. */
export interface TimelineBar {
  /** The newest attempt. */
  readonly step: TimelineStep;
  /** When the first attempt began. */
  readonly startedAt: number;
  /** The place of each attempt: shares of the width of the timeline, from 0 to 1. */
  readonly spans: readonly { readonly left: number; readonly width: number }[];
  /** The sum of all attempts, in seconds. */
  readonly duration: number;
  readonly state: "done" | "failed" | "running" | "waiting";
}

/** Longer steps, and longer gaps between steps, are drawn shortened. */
const longStepMs = 5_000;
const longGapMs = 1_000;

/** Places each step on a common axis. Long times are shortened, so that short steps remain visible. */
export function timelineBars(steps: readonly TimelineStep[], now: number): TimelineBar[] {
  const spanOf = ({ startedAt, endedAt }: TimelineStep) => ({
    from: startedAt,
    to: Math.max(startedAt, endedAt ?? now),
  });
  const all = steps.map(spanOf);
  const place = compressed(all);
  const total = Math.max(1, ...all.map(({ to }) => place(to)));
  const rows = new Map<string, TimelineStep[]>();
  for (const step of steps) {
    const key = [step.step, step.container, step.text].join("\n");
    rows.set(key, [...(rows.get(key) ?? []), step]);
  }
  return [...rows.values()].map((attempts) => {
    const spans = attempts.map(spanOf);
    const last = attempts.at(-1)!;
    return {
      step: last,
      startedAt: attempts[0]!.startedAt,
      spans: spans.map(({ from, to }) => ({
        left: place(from) / total,
        width: (place(to) - place(from)) / total,
      })),
      duration: spans.reduce((sum, { from, to }) => sum + to - from, 0) / 1000,
      state: stateOf(last),
    };
  });
}

function stateOf({ isBackOff, failed, endedAt }: TimelineStep): TimelineBar["state"] {
  if (isBackOff) return "waiting";
  if (failed) return "failed";
  return endedAt === null ? "running" : "done";
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
