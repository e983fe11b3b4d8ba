import assert from "node:assert/strict";
import { constants } from "node:fs";
import { lstat, mkdir, mkdtemp, open, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { diskUsage } from "./disk-usage.ts";
import { rawJoin } from "./entries.ts";
import { descriptorsDuring } from "./fake-descriptors.ts";
import { removeTree } from "./remove-tree.ts";

async function directory(t: TestContext): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), "entries-"));
  t.after(() => removeTree(dir));
  return dir;
}

/** Each directory is created relative to its parent, as a container can do. */
async function nest(dir: string, name: string, depth: number): Promise<void> {
  const flags = constants.O_RDONLY | constants.O_DIRECTORY;
  let parent = await open(dir, flags);
  for (let level = 0; level < depth; level++) {
    const child = `/proc/self/fd/${parent.fd}/${name}`;
    await mkdir(child);
    const next = await open(child, flags);
    await parent.close();
    parent = next;
  }
  await writeFile(`/proc/self/fd/${parent.fd}/file`, Buffer.alloc(8192));
  await parent.close();
}

for (const [rule, name, depth] of [
  ["long names", "n".repeat(250), 40],
  ["many levels", "d", 2_100],
] as const)
  test(`directories nested deeper than PATH_MAX are counted and removed: ${rule}`, async (t) => {
    const dir = await directory(t);
    const none = await diskUsage(dir);
    await nest(dir, name, depth);
    const { bytes, inodes } = await diskUsage(dir);
    assert.equal(inodes, none.inodes + depth + 1);
    assert.ok(bytes >= none.bytes + 8192);
    await removeTree(dir);
    await assert.rejects(lstat(dir), { code: "ENOENT" });
  });

test("counting and removing directories that are nested deeply takes a limited number of file descriptors", async (t) => {
  const dir = await directory(t);
  await nest(dir, "d", 400);
  const counting = await descriptorsDuring(() => diskUsage(dir));
  const removing = await descriptorsDuring(() => removeTree(dir));
  assert.ok(counting < 10 && removing < 140, `${counting} to count, ${removing} to remove`);
  await assert.rejects(lstat(dir), { code: "ENOENT" });
});

test("files whose names are not UTF-8 are counted and removed", async (t) => {
  const dir = await directory(t);
  const none = await diskUsage(dir);
  const sub = rawJoin(Buffer.from(dir), Buffer.from([0xff, 0x20, 0xc3]));
  await mkdir(sub);
  await writeFile(rawJoin(sub, Buffer.from([0xfe])), Buffer.alloc(8192));
  const { bytes, inodes } = await diskUsage(dir);
  assert.equal(inodes, none.inodes + 2);
  assert.ok(bytes >= none.bytes + 8192);
  await removeTree(dir);
  await assert.rejects(lstat(dir), { code: "ENOENT" });
});

test("links are removed and their targets kept, and a directory with the name of a moved one does not interfere", async (t) => {
  const dir = await directory(t);
  const precious = await directory(t);
  await writeFile(join(precious, "file"), "kept");
  const tree = join(dir, "tree");
  await mkdir(join(tree, ".removed-0", "sub"), { recursive: true });
  await writeFile(join(tree, ".removed-1"), "");
  for (const moved of [tree, join(tree, ".removed-0", "sub")]) {
    await symlink(precious, join(moved, "link"));
    await symlink(join(precious, "file"), join(moved, "link-to-file"));
  }
  await nest(tree, "n".repeat(250), 20);
  await removeTree(tree);
  await assert.rejects(lstat(tree), { code: "ENOENT" });
  assert.equal(await readFile(join(precious, "file"), "utf8"), "kept");
  // The tree itself may be a link.
  await symlink(precious, tree);
  await removeTree(tree);
  assert.deepEqual(await readdir(precious), ["file"]);
});

test("a directory with many files is removed completely", async (t) => {
  const dir = await directory(t);
  const tree = join(dir, "tree");
  await mkdir(tree);
  for (let i = 0; i < 1_000; i++) await writeFile(join(tree, String(i)), "");
  await removeTree(tree);
  assert.deepEqual(await readdir(dir), []);
});
