// The text of dist/kubelet.cjs: it loads the bundles with code that was compiled before.
import { createHash } from "node:crypto";
import { globSync, readFileSync } from "node:fs";
import { basename } from "node:path";

/** dist/kubelet.cjs. Code that this machine has compiled is cached next to it, unless the package has another place for it. */
export function launcher(dist, cacheDir) {
  const ids = Object.fromEntries(bundlesIn(dist).map((name) => [name, idOf(readFileSync(dist + name))]));
  const dir = cacheDir ? JSON.stringify(cacheDir) : 'require("node:path").join(__dirname, ".compile-cache")';
  return `"use strict";\n(${startProgram})(require, __dirname, ${dir}, ${JSON.stringify(ids)});\n`;
}

export function bundlesIn(dist) {
  return globSync("*.cjs", { cwd: dist })
    .map((file) => basename(file))
    .filter((name) => name !== "kubelet.cjs")
    .sort();
}

/** V8 compares only the length of the source: cached code of another build must have another name. */
function idOf(data) {
  return createHash("sha256").update(data).digest("hex").slice(0, 16);
}

/** Runs in the program, without anything of this file. */
function startProgram(require, dir, cacheDir, ids) {
  const {
    mkdirSync,
    readdirSync,
    readFileSync,
    renameSync,
    rmSync,
    statSync,
    writeFileSync,
  } = require("node:fs");
  const { createRequire } = require("node:module");
  const { join } = require("node:path");
  const { setFlagsFromString } = require("node:v8");
  const { Script } = require("node:vm");
  const settledMs = 3000;
  const head = "(function (exports, require, module, __filename, __dirname) {";
  const recorded = [];
  let isTrusted = false;
  try {
    mkdirSync(cacheDir, { recursive: true, mode: 0o700 });
    const { mode, uid } = statSync(cacheDir);
    // Who can write there can replace the code that runs here.
    isTrusted = (mode & 0o022) === 0 && (uid === 0 || uid === process.getuid());
  } catch {
    // Where the cache cannot be written, only startup takes longer.
  }
  // Without a checksum, V8 aborts the process if compiled code is corrupt. Only then: the flag would make it reject the code of Node.js.
  const withChecksum = (work) => {
    setFlagsFromString("--verify-snapshot-checksum");
    try {
      return work();
    } finally {
      setFlagsFromString("--no-verify-snapshot-checksum");
    }
  };
  const compile = (filename, source, cache) => {
    let cachedData;
    try {
      cachedData = readFileSync(cache);
    } catch {
      return undefined;
    }
    const options = { filename, cachedData, columnOffset: -head.length };
    const script = withChecksum(() => new Script(source, options));
    return script.cachedDataRejected ? undefined : script;
  };
  const load = (name) => {
    const filename = join(dir, name);
    const source = `${head}${readFileSync(filename, "latin1")}\n})`;
    const cache = join(cacheDir, `${name}-${ids[name]}`);
    let script = isTrusted ? compile(filename, source, cache) : undefined;
    if (!script) {
      // Of the package: it lacks the functions that only run later, and another Node.js rejects it.
      script = compile(filename, source, `${filename}.cache`);
      script ??= new Script(source, { filename, columnOffset: -head.length });
      if (isTrusted) recorded.push({ name, cache, script });
    }
    const module = { exports: {} };
    const requireOf = createRequire(filename);
    const requireFrom = (id) =>
      id.startsWith("./") && id.slice(2) in ids ? load(id.slice(2)) : requireOf(id);
    script.runInThisContext()(module.exports, requireFrom, module, filename, dir);
    return module.exports;
  };
  const settled = () => {
    try {
      for (const { name, cache, script } of recorded) {
        const code = withChecksum(() => script.createCachedData());
        writeFileSync(`${cache}.${process.pid}`, code, { mode: 0o600 });
        for (const entry of readdirSync(cacheDir))
          if (entry.startsWith(`${name}-`) && join(cacheDir, entry) !== `${cache}.${process.pid}`)
            rmSync(join(cacheDir, entry));
        renameSync(`${cache}.${process.pid}`, cache);
      }
    } catch {
      // For example, the disk is full.
    }
    // Not on the command line, nor earlier: V8 rejects code that was compiled with other flags, and all code of Node.js itself.
    setFlagsFromString("--optimize-for-size");
    setFlagsFromString("--heap-growing-percent=60");
  };
  setTimeout(settled, settledMs).unref();
  load("main.cjs");
}
