import { readFileSync } from "node:fs";
import { setImmediate as nextTurn } from "node:timers/promises";
import { Coverage } from "./coverage.ts";
import { type Material, mutate } from "./mutate.ts";
import { Random } from "./random.ts";
import type { FuzzTarget } from "./target.ts";

export interface LoopOptions {
  readonly target: FuzzTarget;
  readonly corpus: readonly Buffer[];
  readonly seed: number;
  /** Runs the target. Reports a finding itself: the loop goes on with other inputs. */
  readonly run: (input: Buffer) => void | Promise<void>;
  /** Checked after each batch. */
  readonly isOver: (executions: number) => boolean;
}

export interface LoopResult {
  /** Some of the inputs that reach everything that was reached. */
  readonly inputs: readonly Buffer[];
  readonly executions: number;
  /** How many characters of the sources ran. */
  readonly covered: number;
}

const smallestBatch = 4;
const largestBatch = 1024;

/**
 * Runs mutations of the corpus and keeps those that reach new code. Coverage is read once for a batch of inputs: only if the batch
 * reached something new, the input that did is searched for by halves. The time plays no part: a run with the same seed tries the same inputs.
 */
export async function fuzz({ target, corpus, seed, run, isOver }: LoopOptions): Promise<LoopResult> {
  const random = new Random(seed);
  const coverage = new Coverage();
  let inputs: Buffer[] = [];
  let executions = 0;
  const runAll = async (batch: readonly Buffer[]) => {
    for (const input of batch) {
      const done = run(input);
      if (done) await done;
    }
    executions += batch.length;
  };
  const search = async (batch: readonly Buffer[]): Promise<void> => {
    coverage.take();
    await runAll(batch);
    const reached = coverage.takeNew();
    const [only] = batch;
    if (reached.length === 0 || only === undefined) return;
    if (batch.length === 1) {
      coverage.add(reached);
      inputs.push(only);
      return;
    }
    const middle = batch.length >>> 1;
    await search(batch.slice(0, middle));
    await search(batch.slice(middle));
  };

  coverage.start();
  try {
    const first = [...corpus, ...target.seeds.map((one) => Buffer.from(one))];
    // Short inputs first: long inputs are not needed for code that short ones reach.
    for (const input of first.sort((a, b) => a.length - b.length)) await search([input]);
    if (inputs.length === 0) inputs.push(Buffer.alloc(0));
    const literals = [...literalsOf(coverage.files), ...(target.dictionary ?? [])];
    const material: Material = {
      random,
      dictionary: literals.map((text) => Buffer.from(text)),
      maxLength: target.maxLength ?? 2048,
      other: () => random.pick(inputs),
    };
    let size = smallestBatch;
    while (!isOver(executions)) {
      // The inputs may have left work for it, such as streams that are to be closed.
      await nextTurn();
      const batch = Array.from({ length: size }, () => mutate(chosen(inputs, random), material));
      coverage.take();
      await runAll(batch);
      const isNew = coverage.takeNew().length > 0;
      if (isNew) await search(batch);
      size = isNew ? Math.max(smallestBatch, size >>> 1) : Math.min(size * 2, largestBatch);
    }
    const covered = coverage.size;
    // The inputs run again, the short ones first, and only those that reach something new are kept: a later input often reaches what several earlier ones do.
    const all = inputs.toSorted((a, b) => a.length - b.length);
    inputs = [];
    coverage.reset();
    for (const input of all) await search([input]);
    return { inputs, executions, covered };
  } finally {
    coverage.stop();
  }
}

/** Chooses one of the latest inputs half of the time. Short inputs run faster, so they are chosen more often. */
function chosen(inputs: readonly Buffer[], random: Random): Buffer {
  const one = () =>
    random.below(2) === 0
      ? random.pick(inputs)
      : (inputs[inputs.length - 1 - random.below(Math.min(inputs.length, 8))] as Buffer);
  const [a, b] = [one(), one()];
  const [shorter, longer] = a.length <= b.length ? [a, b] : [b, a];
  return random.below(4) === 0 ? longer : shorter;
}

const maxLiterals = 4000;

/** Strings and keys of the sources that ran: parsers compare their input with these. */
function literalsOf(files: readonly string[]): Set<string> {
  const literals = new Set<string>();
  for (const file of files) {
    if (file.includes("/node_modules/")) continue;
    const text = readFileSync(file, "utf8").replace(/^import .*$|^\s*(\/\/|\*|\/\*).*$/gm, "");
    const strings = [...text.matchAll(/"((?:[^"\\\n]|\\.){1,40})"/g)].map(([, quoted = ""]) =>
      quoted.replace(/\\n/g, "\n").replace(/\\(.)/g, "$1"),
    );
    const keys = [...text.matchAll(/\b([A-Za-z]\w{1,30})\??: /g)].map(([, key = ""]) => key);
    for (const literal of [...strings, ...keys]) if (literals.size < maxLiterals) literals.add(literal);
  }
  return literals;
}
