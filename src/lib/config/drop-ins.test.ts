import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { test } from "node:test";
import { listDropIns, mergePatch } from "./drop-ins.ts";

test("drop-ins are the .conf files below the directory, by name, subdirectories in order", async (t) => {
  const dir = await mkdtemp(join(tmpdir(), "drop-ins-"));
  t.after(() => rm(dir, { recursive: true }));
  for (const name of [
    "20-b.conf",
    "10-a.conf",
    "15-dir/z.conf",
    "15-dir/README",
    "Z.conf",
    "a.yaml",
    ".conf",
    "é.conf",
  ]) {
    await mkdir(dirname(join(dir, name)), { recursive: true });
    await writeFile(join(dir, name), "");
  }
  const names = (await listDropIns(dir)).map((path) => relative(dir, path));
  assert.deepEqual(names, [".conf", "10-a.conf", "15-dir/z.conf", "20-b.conf", "Z.conf", "é.conf"]);
});

test("a missing directory is an error", async () => {
  await assert.rejects(listDropIns("/nowhere/at/all"), { code: "ENOENT" });
});

const merges: [name: string, base: unknown, patch: unknown, want: unknown][] = [
  ["a scalar is replaced", { a: 1 }, { a: 2 }, { a: 2 }],
  ["another field is kept", { a: 1 }, { b: 2 }, { a: 1, b: 2 }],
  [
    "objects and maps merge",
    { m: { x: "1", y: "2" } },
    { m: { y: "3", z: "4" } },
    { m: { x: "1", y: "3", z: "4" } },
  ],
  ["lists are replaced", { l: [1, 2] }, { l: [3] }, { l: [3] }],
  ["an empty list replaces too", { l: [1, 2] }, { l: [] }, { l: [] }],
  ["null removes a field", { a: 1, m: { x: 1, y: 2 } }, { a: null, m: { x: null } }, { m: { y: 2 } }],
  ["null in a new object is dropped", {}, { m: { x: null, y: 1 } }, { m: { y: 1 } }],
  ["an object replaces a scalar", { a: 1 }, { a: { b: 2 } }, { a: { b: 2 } }],
];
for (const [name, base, patch, want] of merges) {
  test(`merge: ${name}`, () => assert.deepEqual(mergePatch(base, patch), want));
}

test("a key such as __proto__ is a plain key", () => {
  const merged = mergePatch({}, JSON.parse('{"__proto__": {"polluted": true}}')) as Record<string, unknown>;
  assert.ok(Object.hasOwn(merged, "__proto__"));
  assert.equal(merged.polluted, undefined);
});
