import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FakeClock } from "../base/fake-clock.ts";
import { systemCommands } from "./system-commands.ts";

const never = new AbortController().signal;

describe("a command", () => {
  it("returns its exit code and its output", async () => {
    const result = await systemCommands().run(
      { program: "sh", options: [["-c", "echo out; echo err >&2; exit 3"]] },
      { timeoutMs: 10_000, signal: never },
    );
    assert.deepEqual([result.code, result.stdout], [3, "out\n"]);
    assert.deepEqual(
      result.output
        .trim()
        .split("\n")
        .sort((a, b) => (a < b ? -1 : 1)),
      ["err", "out"],
    );
  });
  it("is killed after the timeout", async () => {
    const clock = new FakeClock();
    const run = systemCommands(clock).run(
      { program: "sleep", operands: ["1000"] },
      { timeoutMs: 1000, signal: never },
    );
    await clock.advance(1000);
    assert.deepEqual(await run, { code: undefined, output: "", stdout: "" });
  });
  it("can be aborted, and rejects if it does not exist", async () => {
    const abort = new AbortController();
    const run = systemCommands().run(
      { program: "sleep", operands: ["1000"] },
      { timeoutMs: 60_000, signal: abort.signal },
    );
    abort.abort();
    await assert.rejects(run, { name: "AbortError" });
    await assert.rejects(
      systemCommands().run({ program: "/no/such/program" }, { timeoutMs: 1000, signal: never }),
      {
        code: "ENOENT",
      },
    );
  });
});
