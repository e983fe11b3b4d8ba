import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { checkWalks, exceptions, unusedExceptions } from "./walk-rule.mjs";

const plugin = "src/kubelet/pods/volumes/nfs/nfs-plugin.ts";
const found = (text, file = plugin, allowed = []) =>
  checkWalks(file, text, allowed).map(({ line, call }) => `${line} ${call}`);

const lines = (...text) => text.join("\n");

for (const [what, text, ...calls] of [
  ["a recursive removal", "await rm(dir, { recursive: true, force: true });", "1 rm"],
  ["a synchronous one", "rmSync(join(dir, name), { force: true, recursive: true });", "1 rmSync"],
  ["one through the module", "fs.rmSync(dir, { recursive: true });", "1 rmSync"],
  ["one through an object", "files.rm(root, {\n  recursive: true,\n});", "2 rm"],
  ["one whose option is a variable", "await rm(dir, { recursive, force: true });", "1 rm"],
  ["a removal of directories", "rmdirSync(dir, { recursive: true });", "1 rmdirSync"],
  ["options in a variable", "const options = { recursive: true };", "1 "],
  ["options in a block", "if (all) {\n  options = { force, recursive: true };\n}", "2 "],
  ["a recursive list", "for (const name of await readdir(dir, { recursive: true })) use(name);", "1 readdir"],
  ["a recursive iterator", "const all = opendirSync(dir, { recursive: true });", "1 opendirSync"],
  ["a recursive watch", "watch(dir, { recursive: true, signal });", "1 watch"],
  ["a copy", 'import { cp } from "node:fs/promises";\nawait cp(from, to);', "2 cp"],
  ["a copy through the module", "fs.cpSync(from, to);", "1 cpSync"],
  ["a pattern", 'import { glob } from "node:fs/promises";\nglob("**", { cwd: dir });', "2 glob"],
  ["rm", 'startProgram({ program: "rm", options: ["-r"], operands: [dir] }, {});', "1 rm"],
  ["chown by its path", 'startProgram({ program: "/bin/chown", options: ["-R"] }, {});', "1 /bin/chown"],
  [
    "a function that calls itself",
    lines(
      "export async function sizeOf(dir: string): Promise<number> {",
      "  const entries = await readdir(dir, { withFileTypes: true });",
      "  return sum(entries.map((entry) => sizeOf(join(dir, entry.name))));",
      "}",
    ),
    "1 sizeOf",
  ],
  [
    "an arrow function that calls itself",
    lines(
      "function all(root: string): string[] {",
      "  const below = (dir: string): string[] =>",
      "    readdirSync(dir).flatMap((name) => below(join(dir, name)));",
      "  return below(root);",
      "}",
    ),
    "2 below",
  ],
  [
    "a function that passes itself",
    lines("function tree(dir: string): string[] {", "  return readdirSync(dir).map(tree);", "}"),
    "1 tree",
  ],
  [
    "a method that calls itself",
    lines(
      "class Scan {",
      "  async #visit(dir: string): Promise<void> {",
      "    for (const name of await listDir(dir)) await this.#visit(join(dir, name));",
      "  }",
      "}",
    ),
    "2 visit",
  ],
  [
    "functions that call each other",
    lines(
      "async function enter(dir: string) {",
      "  for await (const entry of await opendir(dir)) await remove(entry);",
      "}",
      "",
      "async function remove(entry: Dirent) {",
      "  if (entry.isDirectory()) await enter(join(entry.parentPath, entry.name));",
      "}",
    ),
    "1 enter",
    "5 remove",
  ],
  [
    "a function that lists through another one",
    lines(
      "const list = (dir: string) => readdir(dir).catch(() => []);",
      "",
      "async function walk(",
      "  dir: string,",
      "): Promise<void> {",
      "  for (const name of await list(dir)) await walk(join(dir, name));",
      "}",
    ),
    "3 walk",
  ],
  [
    "a list under another name",
    lines(
      'import { readdirSync as list } from "node:fs";',
      "function walk(dir: string): void {",
      "  for (const name of list(dir)) walk(join(dir, name));",
      "}",
    ),
    "2 walk",
  ],
  [
    "a member that lists",
    lines(
      "export async function below(files: Files, dir: string): Promise<void> {",
      "  for (const name of await files.dirs(dir)) await below(files, join(dir, name));",
      "}",
    ),
    "1 below",
  ],
  [
    "a stack of directories",
    lines(
      "function all(root: string): void {",
      "  const pending = [root];",
      "  for (let dir = pending.pop(); dir; dir = pending.pop())",
      "    for (const name of readdirSync(dir)) pending.push(join(dir, name));",
      "}",
    ),
    "1 all",
  ],
  [
    "a list that grows in its loop",
    lines(
      "async function all(dirs: string[]) {",
      "  for (const dir of dirs) {",
      "    for (const name of await readdir(dir)) dirs.push(join(dir, name));",
      "  }",
      "}",
    ),
    "1 all",
  ],
])
  test(`${what} is a walk by path`, () => assert.deepEqual(found(text), calls));

for (const [what, text, file] of [
  ["the removal of a file", "await rm(path, { force: true });"],
  ["directories that are created", "await mkdir(dir, { recursive: true });"],
  ["a recursive mount", "await mounts.bind(source, target, { readOnly, recursive: true });"],
  ["a field of this name", "interface Options {\n  readonly recursive?: boolean;\n}"],
  ["a template with a variable of this name", "// biome-ignore\nuse(`blkio${recursive}`);"],
  ["a comment", "// rm(dir, { recursive: true })"],
  ["a text", 'log("rm(dir, { recursive: true })");'],
  ["a list of one directory", "async function names(dir: string) {\n  return readdir(dir);\n}"],
  [
    "a function that calls itself and lists nothing",
    "function depth(node: Node): number {\n  return 1 + Math.max(...node.children.map(depth));\n}",
  ],
  [
    "the same name of another object",
    "class Files {\n  async read(dir: string) {\n    return this.other.read(await readdir(dir));\n  }\n}",
  ],
  [
    "a list that grew before its loop",
    lines(
      "async function all(dir: string) {",
      "  for (const name of await readdir(dir)) found.push(name);",
      "  for (const name of found) use(name);",
      "}",
    ),
  ],
  ["a variable with the name of a copy", "const cp = 1;\nuse(cp);"],
  ["another program", 'startProgram({ program: "mount", operands: ["rm"] }, {});'],
  ["the walker itself", "await rm(dir, { recursive: true });", "src/lib/host/open-dir.ts"],
  ["a test", "await rm(dir, { recursive: true });", "src/lib/host/remove-tree.test.ts"],
  ["a fake", "await rm(dir, { recursive: true });", "src/lib/clients/systemd/fake-logind.ts"],
])
  test(`${what} is accepted`, () => assert.deepEqual(found(text, file), []));

test("an exception is for one call of one file, and is reported when it is not needed", () => {
  const allowed = [{ file: plugin, call: "readdir", why: "a constant" }];
  const text = "readdir(dir, { recursive: true });";
  assert.deepEqual(found(text, plugin, allowed), []);
  assert.deepEqual(found(text, "src/kubelet/agent/other.ts", allowed), ["1 readdir"]);
  assert.deepEqual(found("rm(dir, { recursive: true });", plugin, allowed), ["1 rm"]);
  assert.deepEqual(unusedExceptions([{ file: plugin, text }], allowed), []);
  assert.deepEqual(unusedExceptions([{ file: plugin, text: "" }], allowed), allowed);
});

const root = fileURLToPath(new URL("../../", import.meta.url));

/** The exit status and output of the check for a tree with the files that need an exception, and others. */
function check(files) {
  const tree = mkdtempSync(join(tmpdir(), "walk-rule-"));
  try {
    const own = exceptions.map(({ file }) => [file, readFileSync(join(root, file), "utf8")]);
    for (const [file, text] of [...own, ...Object.entries(files)]) {
      mkdirSync(dirname(join(tree, file)), { recursive: true });
      writeFileSync(join(tree, file), text);
    }
    const { status, stderr } = spawnSync(process.execPath, [join(root, "scripts/check-walks.mjs"), tree], {
      encoding: "utf8",
    });
    return { status, stderr };
  } finally {
    rmSync(tree, { recursive: true });
  }
}

test("the check names file and line, and fails", () => {
  assert.deepEqual(check({}), { status: 0, stderr: "" });
  const { status, stderr } = check({ [plugin]: "\nrmSync(dir, { recursive: true });\n" });
  assert.equal(status, 1);
  assert.match(stderr, /^src\/kubelet\/pods\/volumes\/nfs\/nfs-plugin\.ts:2: rmSync walks a tree by path/);
});
