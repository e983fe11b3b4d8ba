import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { create } from "@bufbuild/protobuf";
import { isAbort } from "../../../lib/base/errors.ts";
import { FakeClock } from "../../../lib/base/fake-clock.ts";
import type { CallOptions, ContainerId, RuntimeService } from "../../../lib/clients/cri/cri.ts";
import { CriError } from "../../../lib/clients/cri/cri-error.ts";
import { ExecSyncResponseSchema } from "../../../lib/gen/runtime/v1/api_pb.js";
import { probeCommand, probeExec } from "./exec-probe.ts";
import type { ProbeAnswer } from "./probe-answer.ts";

const id = "c1" as ContainerId;

function probe(
  execSync: RuntimeService["execSync"],
  clock = new FakeClock(),
  signal = new AbortController().signal,
) {
  return probeExec({ execSync }, { id, command: ["cat", "/x y"] }, { clock, timeoutMs: 2000, signal });
}

const ended =
  (exitCode: number, stdout = "", stderr = "") =>
  () =>
    Promise.resolve(
      create(ExecSyncResponseSchema, { exitCode, stdout: Buffer.from(stdout), stderr: Buffer.from(stderr) }),
    );

describe("an exec probe", () => {
  const table: [rule: string, run: RuntimeService["execSync"], answer: ProbeAnswer][] = [
    ["succeeds with exit code 0", ended(0, "ok"), { kind: "success", output: "ok" }],
    ["fails with any other, with its output", ended(1, "out", "err"), { kind: "failure", output: "outerr" }],
    ["keeps 10 KiB", ended(3, "a".repeat(20_000)), { kind: "failure", output: "a".repeat(10_240) }],
    [
      "fails if the runtime ended the command because its time was up",
      () => Promise.reject(new CriError("DEADLINE_EXCEEDED", "ExecSync", "timeout")),
      { kind: "failure", output: 'command timed out: "cat /x y" timed out after 2s' },
    ],
    [
      "says nothing of the container if the runtime could not run the command",
      () => Promise.reject(new CriError("NOT_FOUND", "ExecSync", "no such container")),
      {
        kind: "error",
        state: "unknown",
        message: "rpc error: code = NotFound desc = no such container",
      },
    ],
    [
      "names a call that was called off as others do",
      () => Promise.reject(new CriError("CANCELLED", "ExecSync", "context canceled")),
      { kind: "error", state: "unknown", message: "rpc error: code = Canceled desc = context canceled" },
    ],
  ];
  for (const [rule, run, answer] of table) it(rule, async () => assert.deepEqual(await probe(run), answer));

  it("gives the runtime its timeout, and ends by itself if the runtime does not", async () => {
    const clock = new FakeClock();
    let asked: { id: string; command: string[]; timeout: number; options?: CallOptions } | undefined;
    const answer = probe((id, command, timeout, options) => {
      asked = { id, command, timeout, options };
      return new Promise(() => {});
    }, clock);
    assert.deepEqual([asked?.id, asked?.command, asked?.timeout], ["c1", ["cat", "/x y"], 2]);
    await clock.advance(2499);
    assert.equal(asked?.options?.signal?.aborted, false);
    await clock.advance(1);
    assert.deepEqual(await answer, {
      kind: "failure",
      output: 'command timed out: "cat /x y" timed out after 2s',
    });
    assert.equal(asked?.options?.signal?.aborted, true);
    assert.equal(clock.pending, 0);
  });

  it("can be called off; the command, which the runtime may be about to start, is left to end", async () => {
    const call = new AbortController();
    let options: CallOptions | undefined;
    const answer = probe(
      (_id, _command, _timeout, o) => {
        options = o;
        return new Promise(() => {});
      },
      new FakeClock(),
      call.signal,
    );
    call.abort();
    await assert.rejects(answer, isAbort);
    assert.equal(options?.signal?.aborted, false);
  });
});

describe("the command of an exec probe", () => {
  const env = [
    { name: "A", value: "1" },
    { name: "B", value: "$(A)" },
    { name: "SECRET", valueFrom: { secretKeyRef: { name: "s", key: "k" } } },
  ];
  const table: [rule: string, word: string, expanded: string][] = [
    ["knows what the spec writes down", "x$(A)y", "x1y"],
    ["does not look into values", "$(B)", "$(A)"],
    ["has nothing for what comes from elsewhere", "<$(SECRET)>", "<>"],
    ["leaves unknown names alone", "$(C)", "$(C)"],
    ["keeps what is escaped", "$$(A)", "$(A)"],
  ];
  for (const [rule, word, expanded] of table)
    it(rule, () => assert.deepEqual(probeCommand([word], env), [expanded]));
});
