import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { checkPrograms, exceptions, unusedExceptions } from "./program-rule.mjs";

const plugin = "src/kubelet/pods/volumes/nfs/nfs-plugin.ts";
const found = (text, file = plugin, allowed = []) =>
  checkPrograms(file, text, allowed).map(({ line }) => line);

for (const [what, text, line = 1] of [
  ["an import", 'import { spawn } from "node:child_process";'],
  ["an import without the scheme", "import { execFile } from 'child_process';"],
  ["an import of a type and a value", 'import { type ChildProcess, spawn } from "node:child_process";'],
  ["an import of the module", 'import * as programs from "node:child_process";'],
  ["an import over several lines", 'import {\n  execFile,\n  spawn,\n} from "node:child_process";', 5 - 1],
  [
    "an import after one of a type",
    'import type { A } from "a"\nimport { spawn } from "node:child_process"',
    2,
  ],
  ["an import for its effects", 'import "node:cluster";'],
  ["an export", 'export { fork } from "node:child_process";'],
  ["an import at run time", 'const { exec } = await import("node:child_process");'],
  ["a require", 'const { exec } = require("child_process");'],
  ["an import of cluster", 'import cluster from "node:cluster";'],
  ["a require of one's own", 'const load = createRequire("/");'],
  ["a module without an import", 'process.getBuiltinModule("node:" + name);'],
  ["the replacement of the process", 'process.execve("/bin/sh", []);'],
  ["a binding", 'const { spawn } = process.binding("spawn_sync");'],
  ["a function of the C library", 'library.func("int system(const char *command)");'],
  [
    "another function of the C library",
    'library.func("void *popen(const char *command, const char *mode)");',
  ],
  ["arguments as they are", 'startProgram({ program: "mount", verbatim: args }, {});'],
])
  test(`${what} is a second way to start a program`, () => assert.deepEqual(found(text), [line]));

for (const [what, text, file] of [
  ["a type of the module", 'import type { ChildProcess } from "node:child_process";'],
  ["the module in a comment", '// import { spawn } from "node:child_process"'],
  ["a text that contains its name", 'throw new Error("uses child_process for the cluster");'],
  ["a value named like a module", 'const scope = "cluster";'],
  ["a function of the C library that starts nothing", 'library.func("int mount(const char *source)");'],
  ["a text about a system", 'log("the file system (ext4)");'],
  ["a call", 'startProgram({ program: "mount", options: ["-v"], operands: [source] }, {});'],
  ["the function itself", 'import { spawn } from "node:child_process";', "src/lib/host/start-program.ts"],
  ["a test", 'import { spawn } from "node:child_process";', "src/lib/host/start-program.test.ts"],
  ["a fake", 'import { spawn } from "node:child_process";', "src/lib/clients/systemd/fake-logind.ts"],
])
  test(`${what} is accepted`, () => assert.deepEqual(found(text, file), []));

test("an exception is for one file and for arguments only, and is reported when it is not needed", () => {
  const allowed = [{ file: plugin, why: "a constant" }];
  const text = "startProgram({ program, verbatim }, {});";
  assert.deepEqual(found(text, plugin, allowed), []);
  assert.deepEqual(found(text, "src/kubelet/agent/other.ts", allowed), [1]);
  assert.deepEqual(found('import { spawn } from "node:child_process";', plugin, allowed), [1]);
  assert.deepEqual(unusedExceptions([{ file: plugin, text }], allowed), []);
  assert.deepEqual(unusedExceptions([{ file: plugin, text: "" }], allowed), allowed);
});

const root = fileURLToPath(new URL("../../", import.meta.url));

/** The exit status and output of the check for a tree with the files that need an exception, and others. */
function check(files) {
  const tree = mkdtempSync(join(tmpdir(), "program-rule-"));
  try {
    const own = exceptions.map(({ file }) => [file, readFileSync(join(root, file), "utf8")]);
    for (const [file, text] of [...own, ...Object.entries(files)]) {
      mkdirSync(dirname(join(tree, file)), { recursive: true });
      writeFileSync(join(tree, file), text);
    }
    const { status, stderr } = spawnSync(process.execPath, [join(root, "scripts/check-programs.mjs"), tree], {
      encoding: "utf8",
    });
    return { status, stderr };
  } finally {
    rmSync(tree, { recursive: true });
  }
}

test("the check names file and line, and fails", () => {
  assert.deepEqual(check({}), { status: 0, stderr: "" });
  const { status, stderr } = check({ [plugin]: '\nimport { spawn } from "node:child_process";\n' });
  assert.equal(status, 1);
  assert.match(
    stderr,
    /^src\/kubelet\/pods\/volumes\/nfs\/nfs-plugin\.ts:2: "node:child_process" starts programs/,
  );
});
