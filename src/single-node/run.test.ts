import assert from "node:assert/strict";
import { test } from "node:test";
import { isAbort } from "../lib/base/errors.ts";
import { run } from "./run.ts";

test("a program gets its input, and its output is returned", async () => {
  assert.equal(await run({ program: "/bin/cat" }, { input: "hello" }), "hello");
});

const failures: [string, string, object, RegExp][] = [
  ["a status other than 0", "echo no such thing >&2; exit 3", {}, /sh -c .*: no such thing$/],
  ["a timeout", "exec sleep 100", { timeoutMs: 20 }, /timed out after 20 ms/],
];
for (const [rule, script, options, message] of failures) {
  test(`${rule} is an error that names it`, async () => {
    await assert.rejects(run({ program: "/bin/sh", options: [["-c", script]] }, options), {
      name: "KubeletError",
      message,
    });
  });
}

test("a program that does not exist is an error", async () => {
  await assert.rejects(run({ program: "/no/such/program" }), { code: "CommandFailed" });
});

test("an abort kills the program", async () => {
  const abort = new AbortController();
  const running = run({ program: "/bin/sh", options: [["-c", "exec sleep 100"]] }, { signal: abort.signal });
  abort.abort();
  await assert.rejects(running, isAbort);
});
