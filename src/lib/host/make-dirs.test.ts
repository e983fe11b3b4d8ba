import assert from "node:assert/strict";
import { mkdtemp, readFile, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { removeDir } from "../../../test/node/remove-dir.ts";
import { inDir, makeDirs } from "./make-dirs.ts";

test("a missing directory is created before the work is repeated, and other failures are not repeated", async (t) => {
  const root = await mkdtemp(join(tmpdir(), "in-dir-"));
  t.after(() => removeDir(root));
  const dir = join(root, "a/b");
  await inDir(dir, 0o750, () => writeFile(join(dir, "file"), "text"));
  assert.equal(await readFile(join(dir, "file"), "utf8"), "text");
  assert.equal((await stat(dir)).mode & 0o777, 0o750);
  let attempts = 0;
  const fails = inDir(dir, 0o750, async () => {
    attempts++;
    throw Object.assign(new Error("full"), { code: "ENOSPC" });
  });
  await assert.rejects(fails, /full/);
  assert.equal(attempts, 1);
});

test("a directory that cannot be created in an existing one is a failure, not an endless loop", {
  timeout: 10_000,
}, async () => {
  // The kernel reports ENOENT, as for a missing parent.
  await assert.rejects(makeDirs("/proc/kubelet-ts-none", 0o755), { code: "ENOENT" });
  await assert.rejects(makeDirs("/proc/kubelet-ts-none/a/b", 0o755), { code: "ENOENT" });
});
