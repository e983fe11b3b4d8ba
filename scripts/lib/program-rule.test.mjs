import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { checkPrograms, exceptions, unusedExceptions } from "./program-rule.mjs";

const plugin = "src/kubelet/pods/volumes/nfs/nfs-plugin.ts";
const found = (text, file = plugin, allowed = []) => [
  ...new Set(checkPrograms(file, text, allowed).map(({ line }) => line)),
];

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
  ["an import whose name is computed", 'const { exec } = await import("node:child_" + "process");'],
  ["an import whose name is a variable", "const { exec } = await import(name);"],
  ["an import whose name is a template", "const { exec } = await import(`node:${name}`);"],
  ["a require whose name is computed", 'const { exec } = require("child_" + "process");'],
  ["a member of the process by its name", 'process["execve"]("/bin/sh", []);'],
  ["a binding whose name is computed", 'process.binding("spawn" + "_sync");'],
  ["an internal binding", "process._linkedBinding(name);"],
  ["the runner of tests, which starts processes", 'import { run } from "node:test";'],
  ["code that is a text", 'eval("process.exit()");'],
  ["a function that is a text", "new Function(text)();"],
  ["a context for code that is a text", 'import { runInThisContext } from "node:vm";'],
  ["a shell", 'startProgram({ program: "sh", options: [["-c", value]] }, {});'],
  ["a program that starts others", 'startProgram({ program: "/usr/bin/env", operands }, {});'],
  ["a unit of systemd", 'const properties = [["ExecStart", command]];'],
  ["the number of a system call", "run(syscall, linux.__NR_execve, path);"],
  [
    "a function of the C library in three parts",
    'import koffi from "koffi";\nkoffi.load(null).func("execve", "int", types);',
    2,
  ],
  ["a prototype that is computed", 'import koffi from "koffi";\nlibrary.func("int " + name + "()");', 2],
  ["a prototype that is a template", 'import koffi from "koffi";\nlibrary.func(`int ${name}()`);', 2],
  ["the address of a function", 'import koffi from "koffi";\nlibrary.symbol(name);', 2],
  ["another library", 'import koffi from "koffi";\nkoffi.load("/lib/libother.so");', 2],
  [
    "any system call",
    'import koffi from "koffi";\nlibrary.func("long syscall(long number, void *path)");',
    2,
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
  ["an import of a constant at run time", 'const { Session } = await import("node:inspector/promises");'],
  ["the type of a module", 'type Koffi = typeof import("koffi");'],
  ["a prototype of one constant", 'import koffi from "koffi";\nlibrary.func(\n  "int flock(int fd)",\n);'],
  ["a system call that starts nothing", "run(syscall, linux.__NR_openat2, path);"],
  ["the URL of the module", "new URL(import.meta.url)"],
  ["a file named like a shell", 'const file = "sh";'],
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
