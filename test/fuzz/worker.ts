import { parentPort, workerData } from "node:worker_threads";
import { checkedRun } from "./checked-run.ts";
import { fuzz } from "./loop.ts";
import { shared } from "./shared-input.ts";
import { shortened } from "./shorten.ts";
import type { FuzzTarget } from "./target.ts";

/** The job of a worker: the inputs alone, or the fuzzer from these inputs on. */
export interface Job {
  readonly target: string;
  readonly memory: SharedArrayBuffer;
  readonly inputs: readonly Uint8Array[];
  /** 0: only the inputs. */
  readonly seconds: number;
  /** Ends earlier, after so many. */
  readonly executions?: number;
  readonly seed: number;
}

export type Report =
  | { readonly kind: "finding"; readonly input: Uint8Array; readonly problem: string }
  | {
      readonly kind: "done";
      readonly executions: number;
      readonly cpuSeconds: number;
      readonly covered: number;
      readonly inputs: readonly Uint8Array[];
    };

/** The same problem is reported once. */
const maxFindings = 20;

const job = workerData as Job;
const { default: target } = (await import(`./targets/${job.target}.ts`)) as { default: FuzzTarget };
const current = shared(job.memory);
const checked = checkedRun(target);
const known = new Set<string>();
const send = (report: Report) => parentPort?.postMessage(report);

const report = async (input: Buffer, error: unknown): Promise<void> => {
  const place = placeOf(error);
  if (known.has(place) || known.size >= maxFindings) return;
  known.add(place);
  const isSame = async (candidate: Buffer) => {
    current.start(candidate);
    try {
      await checked(candidate);
      return false;
    } catch (other) {
      return placeOf(other) === place;
    }
  };
  const short = job.seconds === 0 ? input : await shortened(input, isSame);
  send({ kind: "finding", input: Uint8Array.from(short), problem: textOf(error) });
};

const run = (input: Buffer): void | Promise<void> => {
  current.start(input);
  try {
    return checked(input)?.catch((error: unknown) => report(input, error));
  } catch (error) {
    return report(input, error);
  }
};

const before = process.threadCpuUsage();
const all = job.inputs.map((input) => Buffer.from(input));
const started = performance.now();
const result =
  job.seconds === 0
    ? await replay(all)
    : await fuzz({
        target,
        corpus: all,
        seed: job.seed,
        run,
        isOver: (executions) =>
          performance.now() - started > job.seconds * 1000 ||
          executions >= (job.executions ?? Number.POSITIVE_INFINITY),
      });
const { user, system } = process.threadCpuUsage(before);
send({ kind: "done", ...result, cpuSeconds: (user + system) / 1e6 });

async function replay(inputs: readonly Buffer[]) {
  const seeds = target.seeds.map((seed) => Buffer.from(seed));
  for (const input of [...seeds, ...inputs]) await run(input);
  return { executions: seeds.length + inputs.length, covered: 0, inputs };
}

/** Where it was thrown: two inputs with the same place are the same problem. */
function placeOf(error: unknown): string {
  const problem = textOf(error);
  const frames = problem.split("\n").filter((line) => /^\s+at .*\/(src|test\/fuzz)\//.test(line));
  return frames.slice(0, 2).join("\n") || (problem.split("\n")[0] ?? "");
}

function textOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
