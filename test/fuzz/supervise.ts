import { Worker } from "node:worker_threads";
import { shared, sharedBytes } from "./shared-input.ts";
import type { Job, Report } from "./worker.ts";

export interface Finding {
  readonly target: string;
  readonly input: Buffer;
  readonly problem: string;
}

export interface Outcome {
  readonly target: string;
  readonly findings: readonly Finding[];
  /** Undefined if the worker was ended because of an input that hangs or fills the memory. */
  readonly done: Extract<Report, { kind: "done" }> | undefined;
}

const pollMs = 1000;

export interface SuperviseOptions extends Omit<Job, "memory"> {
  readonly inputs: readonly Buffer[];
  /** An input that takes more CPU time than this hangs. Wall time does not count: the machine may be busy. */
  readonly hangMs?: number;
  readonly maxHeapMb?: number;
}

/** Runs a job in a thread of its own, and ends the thread if an input hangs. */
export async function supervise(o: SuperviseOptions): Promise<Outcome> {
  const { hangMs = 20_000, maxHeapMb = 512, ...job } = o;
  const memory = new SharedArrayBuffer(sharedBytes);
  const current = shared(memory);
  const worker = new Worker(new URL("worker.ts", import.meta.url), {
    workerData: { ...job, memory } satisfies Job,
    // With a large young generation, one collection may exceed the limit by so much that the process ends instead of the thread.
    resourceLimits: { maxOldGenerationSizeMb: maxHeapMb, maxYoungGenerationSizeMb: 16 },
  });
  const findings: Finding[] = [];
  const add = (problem: string, input = current.input) =>
    findings.push({ target: job.target, input, problem });
  let done: Outcome["done"];
  worker.on("message", (report: Report) => {
    if (report.kind === "finding") add(report.problem, Buffer.from(report.input));
    else done = report;
  });
  worker.on("error", (error) => add(`the thread ended: ${String(error)}`));
  const exited = new Promise<void>((resolve) => worker.once("exit", () => resolve()));
  let last = { count: -1, cpuMs: 0 };
  const timer = setInterval(async () => {
    const usage = await worker.cpuUsage().catch(() => undefined);
    if (usage === undefined) return;
    const cpuMs = (usage.user + usage.system) / 1000;
    if (current.count !== last.count) last = { count: current.count, cpuMs };
    else if (done === undefined && cpuMs - last.cpuMs > hangMs) {
      clearInterval(timer);
      add(`hangs: no result after ${hangMs / 1000} s of CPU time`);
      void worker.terminate();
    }
  }, pollMs);
  await exited;
  clearInterval(timer);
  return { target: job.target, findings, done };
}
