import assert from "node:assert/strict";
import { availableParallelism } from "node:os";
import { test } from "node:test";
import { Worker } from "node:worker_threads";
import { rounds } from "../long.ts";

export interface HistoriesToRun {
  numRuns: number;
  seed: number;
  path?: string;
  /** The maximum number of steps of a history. */
  maxSteps: number;
}

interface Outcome {
  numRuns: number;
  failure?: string;
  cause?: string;
}

/** Runs in a separate thread: the test runner tracks every promise of its own thread, and there are millions. */
function run(histories: HistoriesToRun): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL("./pod-lifecycle-histories.ts", import.meta.url), {
      workerData: histories,
    });
    worker.once("message", resolve);
    worker.once("error", reject);
    worker.once("exit", (code) => reject(new Error(`exited with ${code} and reported nothing`)));
  });
}

const { PROPERTY_STEPS = "12", PROPERTY_SEED = "1", PROPERTY_PATH: path } = process.env;
const maxSteps = Number(PROPERTY_STEPS);

/**
 * A failure is reported with its seed and its path, and as the shortest history that still fails. PROPERTY_SEED and
 * PROPERTY_PATH repeat it.
 */
for (const { count, named } of rounds("PROPERTY_RUNS", 2000, 10_000))
  test(named(`pods keep the lifecycle invariants in ${count} random histories`), () => checkHistories(count));

async function checkHistories(total: number): Promise<void> {
  const threads = path === undefined ? Math.min(2, availableParallelism()) : 1;
  const seed = Number(PROPERTY_SEED);
  const numRuns = Math.ceil(total / threads);
  const outcomes = await Promise.all(
    Array.from({ length: threads }, (_, i) => run({ numRuns, seed: seed + i, path, maxSteps })),
  );
  for (const { failure, cause } of outcomes) assert.ok(!failure, `${failure}\n${cause}`);
  const completed = outcomes.reduce((sum, outcome) => sum + outcome.numRuns, 0);
  if (path === undefined) assert.ok(completed >= total, `${completed} histories`);
}
