import assert from "node:assert/strict";
import { readFile, rename, stat } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import type { CriError } from "../../src/lib/clients/cri/cri-error.ts";
import { ContainerState } from "../../src/lib/gen/runtime/v1/api_pb.js";
import { type ContractPods, errorOf, FOREVER, sh } from "./contract-pods.ts";
import { eventually } from "./eventually.ts";

/** The behavior of logs and commands in containers that the agent relies on. */
export function insideContract(pods: ContractPods): void {
  describe("running containers", () => {
    it("write their log in the CRI format, each stream by its name", async (t) => {
      const pod = await pods.pod(t);
      const id = await pods.start(pod, sh("echo one; echo two >&2; echo three"));
      const { logPath } = await pods.exit(id);
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

    it("create the directory of their log, and reopen a log that was moved", async (t) => {
      const pod = await pods.pod(t);
      const id = await pods.start(pod, FOREVER);
      const { logPath } = await pods.status(id);
      await rename(logPath, `${logPath}.old`);
      await pods.client.reopenContainerLog(id);
      assert.equal(await readFile(logPath, "utf8"), "");
      await pods.client.stopContainer(id, 0);
      assert.match((await errorOf(pods.client.reopenContainerLog(id))).message, /not running/);
    });

    it("are checkpointed completely, or the runtime reports why not; either way they keep running", async (t) => {
      const pod = await pods.pod(t);
      const id = await pods.start(pod, FOREVER);
      const location = join(pod.logDirectory, "checkpoint.tar");
      const checkpoint = (to: string) => pods.client.checkpointContainer(id, to, 0);
      const error = await checkpoint(location).then(
        () => undefined,
        (reason: unknown) => reason as CriError,
      );
      if (error) {
        // Older runtimes do not support the call, others lack the program for it.
        assert.match(`${error.grpcCode}: ${error.message}`, /^UNIMPLEMENTED|criu/i);
        await assert.rejects(stat(location));
      } else assert.ok((await stat(location)).size > 0);
      assert.equal((await pods.status(id)).state, ContainerState.CONTAINER_RUNNING);
      await pods.client.stopContainer(id, 0);
      const late = join(pod.logDirectory, "late.tar");
      await errorOf(checkpoint(late));
      await assert.rejects(stat(late));
    });

    it("run commands and return output and exit code", async (t) => {
      const pod = await pods.pod(t);
      const id = await pods.start(pod, FOREVER);
      const result = await pods.client.execSync(id, sh("echo out; echo err >&2; exit 4"), 10);
      assert.equal(Buffer.from(result.stdout).toString(), "out\n");
      assert.equal(Buffer.from(result.stderr).toString(), "err\n");
      assert.equal(result.exitCode, 4);
      assert.match(
        (await errorOf(pods.client.execSync(id, ["/no/such/program"], 10))).message,
        /no such file/i,
      );
    });

    it("end a command that takes longer than its timeout", async (t) => {
      const pod = await pods.pod(t);
      const id = await pods.start(pod, FOREVER);
      const command = pods.client.execSync(id, ["/bin/sleep", "60"], 1);
      if (pods.runtime.isCrio) {
        const { exitCode, stderr } = await command;
        assert.deepEqual([exitCode, Buffer.from(stderr).toString()], [-1, "command timed out"]);
      } else {
        const error = await errorOf(command);
        assert.equal(error.grpcCode, "DEADLINE_EXCEEDED");
        assert.match(error.message, /timeout 1s exceeded/);
      }
      await pods.client.stopContainer(id, 0);
      assert.match(
        (await errorOf(pods.client.execSync(id, ["/bin/true"], 1))).message,
        /CONTAINER_EXITED|not created or running/,
      );
    });
  });
}
