import { readdirSync } from "node:fs";
import { readCorpus } from "./corpus.ts";
import { type Outcome, supervise } from "./supervise.ts";

/** All targets, or those whose name contains one of the parts. */
export function targetNames(parts: readonly string[] = []): string[] {
  return readdirSync(new URL("targets/", import.meta.url))
    .map((file) => file.replace(/\.ts$/, ""))
    .filter((name) => parts.length === 0 || parts.some((part) => name.includes(part)))
    .sort();
}

export interface RunOptions {
  readonly targets: readonly string[];
  /** 0: only the corpus. */
  readonly seconds: number;
  /** How many targets run at the same time. */
  readonly jobs: number;
  readonly seed: number;
  readonly onOutcome?: (outcome: Outcome) => void | Promise<void>;
}

/** Runs the targets, each in a thread of its own. */
export async function runTargets({
  targets,
  seconds,
  jobs,
  seed,
  onOutcome,
}: RunOptions): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  const waiting = [...targets];
  const next = async (): Promise<void> => {
    for (let target = waiting.shift(); target !== undefined; target = waiting.shift()) {
      const { findings, inputs } = readCorpus(target);
      const outcome = await supervise({ target, inputs: [...findings, ...inputs], seconds, seed });
      await onOutcome?.(outcome);
      outcomes.push(outcome);
    }
  };
  await Promise.all(Array.from({ length: jobs }, next));
  return outcomes;
}
