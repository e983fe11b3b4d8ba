import assert from "node:assert/strict";
import { readFile, rename, stat } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import type { CriError } from "../../src/lib/clients/cri/cri-error.ts";
import { ContainerState } from "../../src/lib/gen/runtime/v1/api_pb.js";
import { type Bench, FOREVER, refused, sh } from "./bench.ts";
import { eventually } from "./eventually.ts";

/** What the agent relies on of logs and of commands in containers. */
export function insideContract(bench: Bench): void {
  describe("inside containers", () => {
    it("write their log in the CRI format, each stream by its name", async (t) => {
      const pod = await bench.pod(t);
      const id = await bench.start(pod, sh("echo one; echo two >&2; echo three"));
      const { logPath } = await bench.exit(id);
      const lines = await eventually(async () => {
        const text = await readFile(logPath, "utf8");
        return text.split("\n").length > 3 ? text.trimEnd().split("\n") : undefined;
      });
      for (const line of lines)
        assert.match(
          line,
          /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d) std(out|err) F \w+$/,
        );
      const of = (stream: string) =>
        lines.filter((l) => l.includes(` ${stream} `)).map((l) => l.split(" ").at(-1));
      assert.deepEqual(of("stdout"), ["one", "three"]);
      assert.deepEqual(of("stderr"), ["two"]);
    });

    it("make the folder of their log, and reopen a log that was moved away", async (t) => {
      const pod = await bench.pod(t);
      const id = await bench.start(pod, FOREVER);
      const { logPath } = await bench.status(id);
      await rename(logPath, `${logPath}.old`);
      await bench.client.reopenContainerLog(id);
      assert.equal(await readFile(logPath, "utf8"), "");
      await bench.client.stopContainer(id, 0);
      assert.match((await refused(bench.client.reopenContainerLog(id))).message, /not running/);
    });

    it("are checkpointed completely, or the runtime reports why not; either way they keep running", async (t) => {
      const pod = await bench.pod(t);
      const id = await bench.start(pod, FOREVER);
      const location = join(pod.logDirectory, "checkpoint.tar");
      const checkpoint = (to: string) => bench.client.checkpointContainer(id, to, 0);
      const error = await checkpoint(location).then(
        () => undefined,
        (reason: unknown) => reason as CriError,
      );
      if (error) {
        // Older runtimes do not know the call, others miss the program that does the work.
        assert.match(`${error.grpcCode}: ${error.message}`, /^UNIMPLEMENTED|criu/i);
        await assert.rejects(stat(location));
      } else assert.ok((await stat(location)).size > 0);
      assert.equal((await bench.status(id)).state, ContainerState.CONTAINER_RUNNING);
      await bench.client.stopContainer(id, 0);
      const late = join(pod.logDirectory, "late.tar");
      await refused(checkpoint(late));
      await assert.rejects(stat(late));
    });

    it("run commands and give back output and exit code", async (t) => {
      const pod = await bench.pod(t);
      const id = await bench.start(pod, FOREVER);
      const answer = await bench.client.execSync(id, sh("echo out; echo err >&2; exit 4"), 10);
      assert.equal(Buffer.from(answer.stdout).toString(), "out\n");
      assert.equal(Buffer.from(answer.stderr).toString(), "err\n");
      assert.equal(answer.exitCode, 4);
      assert.match(
        (await refused(bench.client.execSync(id, ["/no/such/program"], 10))).message,
        /no such file/,
      );
    });

    it("end a command that takes longer than its timeout", async (t) => {
      const pod = await bench.pod(t);
      const id = await bench.start(pod, FOREVER);
      const error = await refused(bench.client.execSync(id, ["/bin/sleep", "60"], 1));
      assert.equal(error.grpcCode, "DEADLINE_EXCEEDED");
      assert.match(error.message, /timeout 1s exceeded/);
      await bench.client.stopContainer(id, 0);
      assert.match((await refused(bench.client.execSync(id, ["/bin/true"], 1))).message, /CONTAINER_EXITED/);
    });
  });
}
