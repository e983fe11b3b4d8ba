import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, test } from "node:test";
import { boxUnavailable, startBox } from "./box.ts";

describe("a box", { skip: boxUnavailable }, () => {
  test("has no mounts of others in its own directories", async () => {
    const dir = `/run/kubelet-ts-box-test-${process.pid}`;
    mkdirSync(dir);
    execFileSync("mount", ["-t", "tmpfs", "others", dir]);
    try {
      const box = startBox(["cat", "/proc/self/mountinfo"]);
      const [mounts] = await Promise.all([text(box.child.stdout!), box.ended]);
      assert.match(mounts, / \/run /);
      assert.ok(!mounts.includes(dir), mounts);
    } finally {
      execFileSync("umount", [dir]);
      rmdirSync(dir);
    }
  });

  test("has no network namespace of others, wherever it is mounted", async () => {
    const file = join(mkdtempSync(join(tmpdir(), "kubelet-ts-box-")), "netns");
    writeFileSync(file, "");
    execFileSync("unshare", [`--net=${file}`, "true"]);
    try {
      const box = startBox(["cat", "/proc/self/mountinfo"]);
      const [mounts] = await Promise.all([text(box.child.stdout!), box.ended]);
      assert.match(mounts, / \/run /);
      assert.ok(!mounts.includes(file), mounts);
    } finally {
      execFileSync("umount", [file]);
      rmSync(dirname(file), { recursive: true });
    }
  });
});
