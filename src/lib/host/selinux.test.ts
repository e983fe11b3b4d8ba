import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { isSELinuxEnabled } from "./selinux.ts";

// The rule of go-selinux, which the reference kubelet uses.
const rows: [rule: string, enforce: string | undefined, label: string | undefined, enabled: boolean][] = [
  ["a kernel without SELinux", undefined, "unconfined\n", false],
  ["a kernel with SELinux but no policy", "0", "kernel\0", false],
  ["a host with a policy", "1", "system_u:system_r:init_t:s0\0", true],
  ["a label that cannot be read", "1", undefined, true],
];
for (const [rule, enforce, label, enabled] of rows)
  test(`SELinux: ${rule}`, (t) => {
    const dir = mkdtempSync(join(tmpdir(), "selinux-"));
    t.after(() => rmSync(dir, { recursive: true }));
    if (enforce !== undefined) writeFileSync(join(dir, "enforce"), enforce);
    if (label !== undefined) writeFileSync(join(dir, "current"), label);
    assert.equal(isSELinuxEnabled(join(dir, "enforce"), join(dir, "current")), enabled);
  });
