import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { repoDir } from "../e2e/agent-process.ts";
import { built } from "../e2e/built.ts";

const probe = fileURLToPath(new URL("./compiled-code-probe.cjs", import.meta.url));

interface CompiledCode {
  readonly bundles: readonly { readonly name: string; readonly isCached: boolean }[];
  /** Modules of Node.js whose code was compiled although its binary has the compiled code. */
  readonly modules: readonly string[];
}

let copy: string;
let node: string;

before(() => {
  copy = mkdtempSync(join(tmpdir(), "start-budget-"));
  if (built !== true) return;
  // As just installed, in a folder that nothing may be written to.
  for (const part of ["bin", "dist"]) cpSync(join(repoDir, part), join(copy, part), { recursive: true });
  rmSync(join(copy, "dist/.compile-cache"), { recursive: true, force: true });
  writeFileSync(join(copy, "dist/.compile-cache"), "");
  symlinkSync(join(repoDir, "node_modules"), join(copy, "node_modules"));
  node = join(copy, "node");
  writeFileSync(node, `#!/bin/sh\nexec "${process.execPath}" --expose-internals -r "${probe}" "$@"\n`);
  chmodSync(node, 0o755);
});
after(() => rmSync(copy, { recursive: true, force: true }));

function codeOf(...args: string[]): CompiledCode {
  const file = join(copy, "code.json");
  rmSync(file, { force: true });
  const env = { ...process.env, KUBELET_NODE: node, COMPILED_CODE_FILE: file };
  const { stderr } = spawnSync(join(copy, "bin/kubelet"), args, { env, encoding: "utf8" });
  assert.ok(existsSync(file), stderr);
  return JSON.parse(readFileSync(file, "utf8"));
}

for (const [args, bundles] of [
  [["--config=/nonexistent"], ["main.cjs", "agent.cjs"]],
  [
    ["pods", "--root-dir=/nonexistent"],
    ["main.cjs", "pods.cjs"],
  ],
  [
    ["api", "--help"],
    ["main.cjs", "api.cjs"],
  ],
] as const)
  test(`kubelet ${args.join(" ")} compiles no bundle and no module of Node.js, even the first time`, {
    skip: built !== true && built,
  }, () => {
    assert.deepEqual(codeOf(...args), {
      bundles: bundles.map((name) => ({ name, isCached: true })),
      modules: [],
    });
  });
