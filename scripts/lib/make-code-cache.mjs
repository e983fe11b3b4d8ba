// Writes the compiled code of a bundle next to it: make-code-cache.mjs FILE. It has the functions that run when the bundle is loaded. The same
// bundle results in the same bytes if Node.js is started with `reproducible`.
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { setFlagsFromString } from "node:v8";
import { Script } from "node:vm";

/**
 * Objects have the same order each time. Nothing depends on the load of the machine: no garbage collection, which would remove functions that have run, and no
 * compilers in other threads.
 */
const reproducible = [
  "--hash-seed=1",
  "--random-seed=1",
  "--no-flush-bytecode",
  "--min-semi-space-size=512",
  "--max-semi-space-size=512",
];

/** Set while it runs only: on the command line they imply other flags. */
const withoutCompilers = ["--no-opt", "--no-maglev", "--no-sparkplug"];

/** For the Node.js and the architecture of this process. */
export function makeCodeCaches(files) {
  for (const file of files) {
    const args = [...reproducible, fileURLToPath(import.meta.url), file];
    const { status, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
    if (status !== 0) throw new Error(`cannot compile ${file}: ${stderr}`);
  }
}

function makeCodeCache(file) {
  const source = `(function (exports, require, module, __filename, __dirname) {${readFileSync(file, "latin1")}\n})`;
  for (const flag of withoutCompilers) setFlagsFromString(flag);
  const script = new Script(source, { filename: basename(file) });
  const module = { exports: {} };
  // It runs a command as soon as it is loaded.
  const isProgram = basename(file) === "main.cjs";
  if (!isProgram) script.runInThisContext()(module.exports, createRequire(file), module, file, dirname(file));
  // V8 records the flags, and compares them with those of the program when it loads the code.
  const flags = [
    "--hash-seed=0",
    "--flush-bytecode",
    "--min-semi-space-size=0",
    "--max-semi-space-size=0",
    "--opt",
    "--maglev",
    "--sparkplug",
    "--verify-snapshot-checksum",
  ];
  for (const flag of flags) setFlagsFromString(flag);
  writeFileSync(`${file}.cache`, script.createCachedData());
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  makeCodeCache(process.argv[2]);
  // What the bundle has started, such as timers, must not delay the exit.
  process.exit(0);
}
