import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { makeCodeCaches } from "./make-code-cache.mjs";
import { bundlesIn, launcher } from "./program-launcher.mjs";

const main = `
const node = require("node:process");
const command = require("./command.cjs");
node.stdout.write(JSON.stringify([command.name(), __filename, __dirname, new Error("here").stack.split("\\n")[1]]));
if (node.argv[2]) setTimeout(() => node.exit(0), 3300);
`;

/** A program of two bundles, the second of which returns `name`. */
function program(t, name = "first") {
  const dir = mkdtempSync(join(tmpdir(), "program-launcher-"));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  const write = (text) => {
    writeFileSync(join(dir, "main.cjs"), main);
    writeFileSync(join(dir, "command.cjs"), `exports.name = () => ${JSON.stringify(text)};\n`);
    writeFileSync(join(dir, "kubelet.cjs"), launcher(`${dir}/`, join(dir, "cache")));
  };
  write(name);
  const run = (...args) => {
    const { stdout, stderr } = spawnSync(process.execPath, [join(dir, "kubelet.cjs"), ...args], {
      encoding: "utf8",
    });
    assert.equal(stderr, "");
    return JSON.parse(stdout);
  };
  return { dir, write, run };
}

const files = (dir) => bundlesIn(`${dir}/`).map((name) => join(dir, name));

test("bundles load each other, know their files, and have their positions in stacks, with and without compiled code", (t) => {
  const { dir, run } = program(t);
  const expected = ["first", join(dir, "main.cjs"), dir, /main\.cjs:4:\d+\)?$/];
  for (const make of [() => {}, () => makeCodeCaches(files(dir))]) {
    make();
    const [name, file, folder, at] = run();
    assert.deepEqual([name, file, folder], expected.slice(0, 3));
    assert.match(at, expected[3]);
  }
});

test("the compiled code of a bundle is the same bytes each time", (t) => {
  const { dir } = program(t);
  const made = [1, 2].map(() => {
    makeCodeCaches(files(dir));
    return readFileSync(join(dir, "command.cjs.cache"), "base64");
  });
  assert.equal(made[0], made[1]);
});

test("code that a start has compiled is kept for the next one, and never used for another build", (t) => {
  const { dir, write, run } = program(t);
  const cached = () => readdirSync(join(dir, "cache")).sort();
  assert.equal(run("wait")[0], "first");
  const before = cached();
  assert.equal(before.length, 2);
  // Of the same length: V8 would accept the old code.
  write("later");
  assert.equal(run("wait")[0], "later");
  const after = cached();
  assert.equal(after.length, 2);
  assert.equal(after.filter((name) => before.includes(name)).length, 1);
});

test("corrupt compiled code is compiled again, also that of the package", (t) => {
  const { dir, run } = program(t);
  const corrupt = (file) => {
    const code = readFileSync(file);
    writeFileSync(file, code.fill(0, Math.floor(code.length / 2)));
  };
  makeCodeCaches(files(dir));
  run("wait");
  const cached = readdirSync(join(dir, "cache")).map((name) => join(dir, "cache", name));
  assert.equal(cached.length, 2);
  for (const file of [...cached, ...files(dir).map((name) => `${name}.cache`)]) corrupt(file);
  assert.equal(run()[0], "first");
});

test("compiled code is written for its user only, in a folder that others may read, with umask 0", (t) => {
  const { dir, run } = program(t);
  mkdirSync(join(dir, "cache"));
  chmodSync(join(dir, "cache"), 0o755);
  const umask = process.umask(0);
  t.after(() => process.umask(umask));
  run("wait");
  const names = readdirSync(join(dir, "cache"));
  assert.deepEqual(
    names.map((name) => statSync(join(dir, "cache", name)).mode & 0o777),
    [0o600, 0o600],
  );
});

test("a cache that is corrupt or cannot be written is not needed", (t) => {
  const { dir, run } = program(t);
  makeCodeCaches(files(dir));
  for (const file of files(dir)) writeFileSync(`${file}.cache`, "corrupt");
  writeFileSync(join(dir, "cache"), "not a directory");
  assert.equal(run("wait")[0], "first");
  rmSync(join(dir, "cache"));
  mkdirSync(join(dir, "cache"));
  assert.equal(run()[0], "first");
});
