// npm run fuzz -- [part of a target's name ...] [--seconds N] [--jobs N] [--seed N]: see README.md.
import { availableParallelism, setPriority } from "node:os";
import { parseArgs } from "node:util";
import { encodeInput, readCorpus, writeCorpus } from "./corpus.ts";
import { runTargets, targetNames } from "./run-targets.ts";
import type { Outcome } from "./supervise.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seconds: { type: "string", default: "60" },
    jobs: { type: "string", default: String(availableParallelism()) },
    seed: { type: "string", default: String(Date.now() % 2 ** 31) },
  },
});
const [seconds, jobs, seed] = [values.seconds, values.jobs, values.seed].map(Number) as [
  number,
  number,
  number,
];

// Threads inherit the priority of the one that starts them.
setPriority(0, 19);

const outcomes = await runTargets({ targets: targetNames(positionals), seconds, jobs, seed, onOutcome });
process.exitCode = outcomes.some(({ findings }) => findings.length > 0) ? 1 : 0;

async function onOutcome({ target, findings, done }: Outcome): Promise<void> {
  if (done) {
    const { executions, cpuSeconds, covered, inputs } = done;
    const rate = Math.round(executions / cpuSeconds);
    console.log(
      `${target}: ${executions} executions (${rate} per CPU second), ${covered} characters of code, ${inputs.length} inputs`,
    );
  }
  for (const { problem, input } of findings)
    console.log(`${target}: FINDING ${JSON.stringify(encodeInput(input))}\n${problem}\n`);
  if (seconds === 0) return;
  const before = readCorpus(target);
  const isKnown = (input: Buffer) => before.findings.some((known) => known.equals(input));
  await writeCorpus(target, {
    findings: [...before.findings, ...findings.map(({ input }) => input).filter((input) => !isKnown(input))],
    inputs: done
      ? done.inputs.filter((one) => !isKnown(Buffer.from(one))).map((one) => Buffer.from(one))
      : before.inputs,
  });
}
