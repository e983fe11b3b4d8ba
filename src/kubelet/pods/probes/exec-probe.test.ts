import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { create } from "@bufbuild/protobuf";
import { isAbort } from "../../../lib/base/errors.ts";
import { FakeClock } from "../../../lib/base/fake-clock.ts";
import type { CallOptions, ContainerId, RuntimeService } from "../../../lib/clients/cri/cri.ts";
import { CriError } from "../../../lib/clients/cri/cri-error.ts";
import { ExecSyncResponseSchema } from "../../../lib/gen/runtime/v1/api_pb.js";
import type { AttemptResult } from "./attempt-result.ts";
import { probeCommand, probeExec } from "./exec-probe.ts";

const id = "c1" as ContainerId;

function probe(
  execSync: RuntimeService["execSync"],
  clock = new FakeClock(),
  signal = new AbortController().signal,
) {
  return probeExec({ execSync }, { id, command: ["cat", "/x y"] }, { clock, timeoutMs: 2000, signal });
}

const exited =
  (exitCode: number, stdout = "", stderr = "") =>
  () =>
    Promise.resolve(
      create(ExecSyncResponseSchema, { exitCode, stdout: Buffer.from(stdout), stderr: Buffer.from(stderr) }),
    );

describe("an exec probe", () => {
  it("reports at most 10 KiB of a long command that timed out", async () => {
    const execSync = () => Promise.reject(new CriError("DEADLINE_EXCEEDED", "ExecSync", "timeout"));
    const limits = { clock: new FakeClock(), timeoutMs: 1, signal: new AbortController().signal };
    const result = await probeExec({ execSync }, { id, command: ["sh", "x".repeat(1_000_000)] }, limits);
    assert.ok(result.kind === "failure" && /^command timed out: "sh x+\.\.\.$/.test(result.output));
    assert.ok(result.output.length < 10_300, `${result.output.length}`);
  });

  const table: [rule: string, run: RuntimeService["execSync"], result: AttemptResult][] = [
    ["succeeds with exit code 0", exited(0, "ok"), { kind: "success", output: "ok" }],
    [
      "fails with any other exit code, with the output",
      exited(1, "out", "err"),
      { kind: "failure", output: "outerr", exitCode: 1 },
    ],
    [
      "keeps 10 KiB of the output",
      exited(3, "a".repeat(20_000)),
      { kind: "failure", output: "a".repeat(10_240), exitCode: 3 },
    ],
    [
      "fails if the runtime reports a timeout of the command",
      () => Promise.reject(new CriError("DEADLINE_EXCEEDED", "ExecSync", "timeout")),
      { kind: "failure", output: 'command timed out: "cat /x y" timed out after 2s' },
    ],
    [
      "is an error if the runtime could not run the command",
      () => Promise.reject(new CriError("NOT_FOUND", "ExecSync", "no such container")),
      {
        kind: "error",
        state: "unknown",
        message: "rpc error: code = NotFound desc = no such container",
      },
    ],
    [
      "spells the code of a canceled call as Go does",
      () => Promise.reject(new CriError("CANCELLED", "ExecSync", "context canceled")),
      { kind: "error", state: "unknown", message: "rpc error: code = Canceled desc = context canceled" },
    ],
  ];
  for (const [rule, run, result] of table) it(rule, async () => assert.deepEqual(await probe(run), result));

  it("passes its timeout to the runtime, and times out on its own if the runtime does not respond", async () => {
    const clock = new FakeClock();
    let request: { id: string; command: string[]; timeout: number; options?: CallOptions } | undefined;
    const result = probe((id, command, timeout, options) => {
      request = { id, command, timeout, options };
      return new Promise(() => {});
    }, clock);
    assert.deepEqual([request?.id, request?.command, request?.timeout], ["c1", ["cat", "/x y"], 2]);
    await clock.advance(2499);
    assert.equal(request?.options?.signal?.aborted, false);
    await clock.advance(1);
    assert.deepEqual(await result, {
      kind: "failure",
      output: 'command timed out: "cat /x y" timed out after 2s',
    });
    assert.equal(request?.options?.signal?.aborted, true);
    assert.equal(clock.pending, 0);
  });

  it("can be aborted; the command, which the runtime may be about to start, is left to finish", async () => {
    const call = new AbortController();
    let options: CallOptions | undefined;
    const result = probe(
      (_id, _command, _timeout, o) => {
        options = o;
        return new Promise(() => {});
      },
      new FakeClock(),
      call.signal,
    );
    call.abort();
    await assert.rejects(result, isAbort);
    assert.equal(options?.signal?.aborted, false);
  });
});

describe("the command of an exec probe", () => {
  const env = [
    { name: "A", value: "1" },
    { name: "B", value: "$(A)" },
    { name: "SECRET", valueFrom: { secretKeyRef: { name: "s", key: "k" } } },
  ];
  const table: [rule: string, arg: string, expanded: string][] = [
    ["expands literal values of the spec", "x$(A)y", "x1y"],
    ["does not expand variables within values", "$(B)", "$(A)"],
    ["expands values from other sources to nothing", "<$(SECRET)>", "<>"],
    ["leaves unknown names alone", "$(C)", "$(C)"],
    ["keeps escaped references", "$$(A)", "$(A)"],
  ];
  for (const [rule, arg, expanded] of table)
    it(rule, () => assert.deepEqual(probeCommand([arg], env), [expanded]));

  it("is rejected if it expands to too much", () => {
    const long = [{ name: "L", value: "x".repeat(1 << 20) }];
    assert.throws(() => probeCommand(["$(L)$(L)$(L)"], long), {
      message: "exec.command[0] expands to more than 2097152 bytes",
    });
    assert.throws(() => probeCommand(Array(20).fill("$(L)"), long), {
      message: "exec.command[7] exceeds the limit of 8388608 bytes in total",
    });
  });
});
