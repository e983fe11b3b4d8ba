import assert from "node:assert/strict";

/**
 * Fails if work takes more than linear time (`power` 1) or quadratic time (`power` 2) in the size of its input. `prepare` returns the
 * work for an input of a size. Sizes double from `from` until the work takes long enough to be measured; then it is compared with the work for
 * 16 times as much input, which takes 16 times as long if it is linear and 256 times if it is quadratic. The limit is 128: caches miss more
 * often with more data.
 * The time is the processor time of this thread, the least of up to three runs: other work on the machine does not count.
 */
export function assertGrowth(power: number, from: number, prepare: (size: number) => () => unknown): void {
  const steps: string[] = [];
  let size = from;
  let before = measured(prepare(size), 0);
  const limit = 8 * 16 ** power;
  for (; before < measurableMicros; size *= 2) {
    const next = measured(prepare(size * 2), 0);
    steps.push(`${size * 2}: ${next} µs`);
    // Work that grows exponentially would never reach the comparison.
    assert.ok(next < measurableMicros * limit, `work jumps at ${steps.join(", ")}`);
    before = next;
  }
  const after = measured(prepare(size * 16), before * limit);
  assert.ok(
    after < before * limit,
    `16 times the input takes ${(after / before).toFixed(0)} times as long (${size}: ${before} µs, ${size * 16}: ${after} µs)`,
  );
}

const measurableMicros = 3000;

/** The least time of three runs, or the first that is below `enough`. */
function measured(work: () => unknown, enough: number): number {
  let least = Number.POSITIVE_INFINITY;
  for (let run = 0; run < 3 && least >= enough; run++) {
    const start = process.threadCpuUsage();
    work();
    const { user, system } = process.threadCpuUsage(start);
    least = Math.min(least, user + system);
  }
  return least;
}
