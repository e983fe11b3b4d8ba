import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { describe, it } from "node:test";
import { Worker } from "node:worker_threads";
import { systemClock } from "../../../../lib/base/clock.ts";
import { writeAtomically } from "./atomic-writer.ts";
import { versionFiles } from "./fake-continuous-writer.ts";
import { filesOf, payloadOf, rootOf, tempDir } from "./fake-volume-dir.ts";
import type { ReaderReport, ReaderTask } from "./fake-volume-reader.ts";

const clock = systemClock;
const names = ["a", "b", "c/d", "e"];

describe("atomic writer with concurrent readers and kills", () => {
  it("a reader in a tight loop sees no mix of old and new files in 1,000 updates", async (t) => {
    const dir = tempDir(t);
    const write = (version: number) =>
      writeAtomically(dir, payloadOf(versionFiles(version, names)), { clock });
    await write(1);
    const stop = new Int32Array(new SharedArrayBuffer(4));
    const task: ReaderTask = { dir, names, stop };
    const reader = new Worker(join(import.meta.dirname, "fake-volume-reader.ts"), { workerData: task });
    const done = once(reader, "message") as Promise<[ReaderReport]>;
    await once(reader, "online");
    for (let version = 2; version <= 1001; version++) assert.equal(await write(version), true);
    Atomics.store(stop, 0, 1);
    const [report] = await done;
    assert.deepEqual([report.mixed, report.partial, report.back], [[], [], []]);
    assert.ok(report.reads > 100, `${report.reads} reads`);
    assert.ok(report.versions > 20, `${report.versions} versions`);
    t.diagnostic(
      `${report.reads} reads, ${report.versions} versions, ${report.gone} times replaced in the meantime`,
    );
  });

  it("after SIGKILL during a write one complete version is visible, and the next write cleans up", async (t) => {
    const dir = tempDir(t);
    const program = join(import.meta.dirname, "fake-continuous-writer.ts");
    let newest = 0;
    for (let kill = 0; kill < 5; kill++) {
      const child = spawn(process.execPath, [program, dir, String(newest + 1), ...names], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      const ended = once(child, "exit");
      await once(child.stdout, "data");
      // Waits for an arbitrary time: the kill may interrupt any step of a write.
      for (let ticks = 0; ticks < kill * 997; ticks++) await new Promise(setImmediate);
      child.kill("SIGKILL");
      await ended;
      const files = filesOf(dir) ?? {};
      const version = Number(files.a?.split("\n")[0]);
      assert.deepEqual(files, versionFiles(version, names));
      assert.ok(version > newest);
      newest = version;
    }
    await writeAtomically(dir, payloadOf({ z: "1" }), { clock });
    assert.deepEqual(rootOf(dir), ["..<time>", "..data -> ..<time>", "z -> ..data/z"]);
  });
});
