import assert from "node:assert/strict";
import { availableParallelism, setPriority } from "node:os";
import { describe, test } from "node:test";
import { long } from "../long.ts";
import { encodeInput } from "./corpus.ts";
import { runTargets, targetNames } from "./run-targets.ts";
import { type Outcome, supervise } from "./supervise.ts";

const seconds = Number(process.env.FUZZ_SECONDS ?? 60);
/** At low priority, while other tests wait: the parsers of all targets are fuzzed within two or three minutes. */
const concurrentTargets = 18;

function assertNoFindings({ target, findings, done }: Outcome): void {
  for (const { input, problem } of findings)
    assert.fail(
      `${target}: ${JSON.stringify(encodeInput(input))}\n${problem}\nAdd it to the corpus: npm run fuzz`,
    );
  assert.ok(done && done.executions > 0, `${target}: nothing was run`);
}

describe("fuzzed parsers", () => {
  test("the seeds and the corpus of each target break no rule", async () => {
    const targets = targetNames();
    assert.ok(targets.length >= 36);
    await runTargets({
      targets,
      seconds: 0,
      jobs: availableParallelism(),
      seed: 1,
      onOutcome: assertNoFindings,
    });
  });

  test(long(`no target breaks a rule within ${seconds} s`), async (t) => {
    // Threads inherit the priority of the one that starts them.
    setPriority(0, 19);
    const seed = Number(process.env.FUZZ_SEED ?? 1);
    const outcomes = await runTargets({ targets: targetNames(), seconds, jobs: concurrentTargets, seed });
    for (const { target, done } of outcomes)
      if (done)
        t.diagnostic(
          `${target}: ${done.executions} executions in ${done.cpuSeconds.toFixed(1)} s of CPU time`,
        );
    for (const outcome of outcomes) assertNoFindings(outcome);
  });

  // The rules of the fuzzer itself, by a target that breaks each of them.
  for (const [rule, input, problem] of [
    ["an unexpected error", "throw", /TypeError: unexpected/],
    ["a changed prototype", "pollute", /RuleError: a built-in prototype was changed/],
    ["an input that takes too long", "slow", /RuleError: too slow/],
    ["an input that hangs", "hang", /hangs: no result/],
    ["an input that fills the memory", "fill", /thread ended: .*memory/],
    ["a rejected promise", "reject", /Error: rejected later/],
  ] as const)
    test(`${rule} is a finding, with its input`, async () => {
      const { findings } = await supervise({
        target: "../broken-target",
        inputs: [Buffer.from("good"), Buffer.from(input)],
        seconds: 0,
        seed: 1,
        hangMs: 8000,
        maxHeapMb: 64,
      });
      assert.deepEqual(
        findings.map((finding) => finding.input.toString()),
        [input],
      );
      assert.match(findings[0]?.problem ?? "", problem);
    });

  test("a run with the same seed tries the same inputs", async () => {
    const run = async () => {
      const { done } = await supervise({
        target: "label-selector",
        inputs: [],
        seconds: Number.POSITIVE_INFINITY,
        seed: 7,
        executions: 5000,
      });
      return [done?.executions, done?.covered, done?.inputs.map((input) => Buffer.from(input).toString())];
    };
    assert.deepEqual(await run(), await run());
  });

  test("what inputs leave for the next turn of the event loop does not fill the memory", async () => {
    const { findings, done } = await supervise({
      target: "../ticking-target",
      inputs: [],
      seconds: Number.POSITIVE_INFINITY,
      seed: 1,
      executions: 50_000,
      maxHeapMb: 64,
    });
    assert.deepEqual(findings, []);
    assert.ok((done?.executions ?? 0) >= 50_000);
  });

  test("the fuzzer finds an input behind several conditions, and shortens it", async () => {
    const { findings, done } = await supervise({
      target: "../maze-target",
      inputs: [],
      seconds: Number.POSITIVE_INFINITY,
      seed: 1,
      executions: 100_000,
    });
    assert.equal(findings.length, 1, `${done?.executions} executions`);
    assert.match(findings[0]?.problem ?? "", /out of the maze/);
    assert.equal(findings[0]?.input.toString(), "fuzz");
  });
});
