import assert from "node:assert/strict";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { supportsTmpfsNoswap } from "./tmpfs-noswap.ts";

describe("tmpfs can be kept out of swap", () => {
  const table: [
    rule: string,
    kernel: string,
    inUserNamespace: boolean,
    mounts: boolean,
    supported: boolean,
  ][] = [
    ["since Linux 6.4, without a mount", "6.4.0-150600.23", false, false, true],
    ["since Linux 7", "7.0.1", false, false, true],
    ["by a distribution's kernel that mounts with the option", "5.14.0-427.el9.x86_64", false, true, true],
    ["not by another older kernel", "6.3.13", false, false, false],
    ["not in a user namespace", "6.8.0-31-generic", true, true, false],
  ];
  for (const [rule, kernel, inUserNamespace, mounts, supported] of table)
    it(rule, async (t) => {
      const dir = await mkdtemp(join(tmpdir(), "noswap-"));
      t.after(() => rm(dir, { recursive: true }));
      const calls: string[] = [];
      const mount = async (
        _source: string,
        _target: string,
        fsType: string,
        options: readonly string[] = [],
      ) => {
        if (!mounts) throw new Error("EINVAL");
        calls.push(`mount ${fsType} ${options}`);
      };
      const unmount = async () => void calls.push("unmount");
      const check = { dir, inUserNamespace, kernel, mounts: { mount, unmount } };
      assert.equal(await supportsTmpfsNoswap(check), supported);
      assert.deepEqual(calls, kernel.startsWith("5") ? ["mount tmpfs noswap", "unmount"] : []);
      assert.deepEqual(await readdir(dir), []);
    });
});
