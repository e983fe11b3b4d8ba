import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, test } from "node:test";
import { isolationUnavailable, startIsolated } from "./isolated-host.ts";

describe("an isolated host", { skip: isolationUnavailable }, () => {
  test("has no mounts of others in its own directories", async () => {
    const dir = `/run/kubelet-ts-isolated-test-${process.pid}`;
    mkdirSync(dir);
    execFileSync("mount", ["-t", "tmpfs", "others", dir]);
    try {
      const host = startIsolated(["cat", "/proc/self/mountinfo"]);
      const [mounts] = await Promise.all([text(host.child.stdout!), host.exited]);
      assert.match(mounts, / \/run /);
      assert.ok(!mounts.includes(dir), mounts);
    } finally {
      execFileSync("umount", [dir]);
      rmdirSync(dir);
    }
  });

  test("keeps its state directories when other processes remove theirs", async () => {
    const host = startIsolated(["sh", "-c", "echo started; sleep 60"]);
    try {
      await once(host.child.stdout!, "data");
      for (const dir of ["/var/lib/kubelet-ts", "/var/lib/cni", "/var/lib/kubelet"]) {
        assert.ok(readdirSync(dir).some((name) => name.startsWith(`.kubelet-ts-isolated-${process.pid}-`)));
        assert.throws(() => rmdirSync(dir), { code: "ENOTEMPTY" });
      }
    } finally {
      host.child.kill("SIGKILL");
      await host.exited;
    }
  });

  test("has no network namespace of others, wherever it is mounted", async () => {
    const file = join(mkdtempSync(join(tmpdir(), "kubelet-ts-isolated-")), "netns");
    writeFileSync(file, "");
    execFileSync("unshare", [`--net=${file}`, "true"]);
    try {
      const host = startIsolated(["cat", "/proc/self/mountinfo"]);
      const [mounts] = await Promise.all([text(host.child.stdout!), host.exited]);
      assert.match(mounts, / \/run /);
      assert.ok(!mounts.includes(file), mounts);
    } finally {
      execFileSync("umount", [file]);
      rmSync(dirname(file), { recursive: true });
    }
  });
});
