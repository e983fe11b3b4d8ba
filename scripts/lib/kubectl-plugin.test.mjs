import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { linkKubectlPlugin } from "./kubectl-plugin.mjs";

test("the plugin of kubectl is linked; links of an older checkout are replaced, files of others are not", (t) => {
  const dir = mkdtempSync(join(tmpdir(), "kubelet-ts-bin-"));
  t.after(() => rmSync(dir, { recursive: true }));
  const [why, complete] = ["kubectl-why", "kubectl_complete-why"].map((name) => join(dir, name));
  symlinkSync("/gone/dist/kubectl-why/kubectl-why", why);
  writeFileSync(complete, "of another package");
  for (let i = 0; i < 2; i++) linkKubectlPlugin({ dir, target: "/here/dist/kubectl-why/kubectl-why" });
  assert.equal(readlinkSync(why), "/here/dist/kubectl-why/kubectl-why");
  assert.equal(readFileSync(complete, "utf8"), "of another package");
  linkKubectlPlugin({ dir: "/nowhere/bin", target: why });
});
