import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { lstat, mkdir, mkdtemp, readdir, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { errnoOf } from "../base/errors.ts";
import { diskUsage } from "./disk-usage.ts";
import { hostMounts } from "./mounts.ts";
import { OpenDir, visitDirs } from "./open-dir.ts";
import { removeTree } from "./remove-tree.ts";

const mayMount = process.getuid?.() === 0;
const dirNames = Array.from({ length: 12 }, (_, index) => `d${index}`);
const fileNames = Array.from({ length: 12 }, (_, index) => `f${index}`);

interface Attack {
  readonly dir: string;
  readonly volume: string;
  readonly outside: string;
  isRunning(): boolean;
}

/** The directory outside has the names of those in the volume, so that an escape would succeed. */
async function attack(t: TestContext): Promise<Attack> {
  const dir = await mkdtemp(join(tmpdir(), "open-dir-"));
  const [volume, outside] = [join(dir, "volume"), join(dir, "outside")];
  await mkdir(outside);
  for (const name of fileNames) await writeFile(join(outside, name), Buffer.alloc(1 << 20, 1));
  for (const name of dirNames) await mkdir(join(outside, name));
  const program = fileURLToPath(import.meta.resolve("../../../test/host/swap-dirs.ts"));
  // Without the options of the test run, which would treat the arguments as tests.
  const attacker = fork(program, [volume, outside, ...dirNames], { execArgv: [] });
  const ended = once(attacker, "exit");
  t.after(async () => {
    attacker.kill("SIGKILL");
    await ended;
    await removeTree(dir);
  });
  await once(attacker, "message");
  return {
    dir,
    volume,
    outside,
    isRunning: () => attacker.exitCode === null && attacker.signalCode === null,
  };
}

/** Without waits: the attacker swaps directories as soon as they exist. */
function fill(volume: string): void {
  mkdirSync(volume, { recursive: true });
  for (const name of dirNames) {
    attempt(() => mkdirSync(join(volume, name)));
    for (const file of fileNames) attempt(() => writeFileSync(join(volume, name, file), "", { flag: "wx" }));
  }
}

function attempt(step: () => void): void {
  try {
    step();
  } catch (error) {
    if (!["EEXIST", "ENOENT"].includes(errnoOf(error) ?? "")) throw error;
  }
}

const rounds = 60;
const walks = 200;

test(`a volume whose directories are swapped for links while it is removed loses nothing outside in ${rounds} rounds`, async (t) => {
  const { volume, outside, isRunning } = await attack(t);
  const before = await readdir(outside);
  const counts = { removed: 0, changed: 0 };
  for (let round = 0; round < rounds; round++) {
    fill(volume);
    await removeTree(volume).then(
      () => counts.removed++,
      (error) => {
        // The container has created something in the meantime.
        assert.match(errnoOf(error) ?? "", /^(ENOTEMPTY|ENOTDIR)$/);
        counts.changed++;
      },
    );
    assert.deepEqual(await readdir(outside), before, `round ${round}`);
  }
  assert.ok(isRunning());
  t.diagnostic(JSON.stringify(counts));
  assert.ok(counts.removed > 0, JSON.stringify(counts));
});

test(`the usage of a volume whose directories are swapped for links never includes files outside in ${walks} walks`, async (t) => {
  const { volume, outside, isRunning } = await attack(t);
  fill(volume);
  const largest = (await diskUsage(outside)).bytes;
  for (let walk = 0; walk < walks; walk++) {
    const { bytes } = await diskUsage(volume);
    assert.ok(bytes < largest, `walk ${walk}: ${bytes} bytes of a volume of empty files`);
  }
  assert.ok(isRunning());
});

test("a directory is entered by one name or several, but not if it is a link, missing, or a file", async (t) => {
  const dir = await mkdtemp(join(tmpdir(), "open-dir-"));
  t.after(() => removeTree(dir));
  await mkdir(join(dir, "a/b"), { recursive: true });
  await writeFile(join(dir, "a/file"), "");
  await symlink("b", join(dir, "a/link"));
  await symlink("a", join(dir, "link"));
  const root = await OpenDir.open(dir);
  t.after(() => root.close());
  const table: [path: string, isEntered: boolean][] = [
    ["a", true],
    ["a/b", true],
    ["none", false],
    ["a/none", false],
    ["none/none", false],
    ["link", false],
    ["a/link", false],
    ["link/b", false],
    ["a/file", false],
    ["a/file/none", false],
  ];
  for (const [path, isEntered] of table) {
    const entered = await root.enter(Buffer.from(path));
    assert.equal(entered !== undefined, isEntered, path);
    const { ino } = await lstat(join(dir, path)).catch(() => ({ ino: undefined }));
    if (entered) assert.equal((await entered.stat()).ino, ino);
    entered?.close();
  }
});

test("a walk takes little memory for many directories with a long path", async (t) => {
  const dir = await mkdtemp(join(tmpdir(), "open-dir-"));
  t.after(() => removeTree(dir));
  const depth = 13;
  const deep = join(dir, ...Array.from({ length: depth }, () => "d".repeat(250)));
  await mkdir(deep, { recursive: true });
  const inside = await OpenDir.open(deep);
  const count = 5000;
  for (let i = 0; i < count; i++) mkdirSync(inside.at(Buffer.from(`${i}`)));
  inside.close();
  const before = process.memoryUsage().arrayBuffers;
  let pending = 0;
  let visited = 0;
  const root = await OpenDir.open(dir);
  const visit = async (directory: OpenDir) => {
    visited++;
    if (visited > depth + 1) {
      // All others are waiting for their visit.
      if (visited === depth + 2) pending = process.memoryUsage().arrayBuffers - before;
      return [];
    }
    const names: Buffer[] = [];
    for await (const batch of directory.names(100)) names.push(...batch);
    return names;
  };
  await visitDirs(root, visit, { crossMounts: false });
  root.close();
  assert.equal(visited, depth + 1 + count);
  assert.ok(pending < count * 1000, `${pending} bytes for ${count} directories`);
});

test("a bind mount of the same filesystem is a mount point, which is entered only on request", {
  skip: !mayMount && "needs root",
}, async (t) => {
  const dir = await mkdtemp(join(tmpdir(), "open-dir-"));
  t.after(async () => {
    await hostMounts.unmount(join(dir, "a/mounted"));
    await removeTree(dir);
  });
  for (const name of ["a/mounted", "other"]) await mkdir(join(dir, name), { recursive: true });
  await writeFile(join(dir, "other/file"), Buffer.alloc(1 << 20, 1));
  await hostMounts.bind(join(dir, "other"), join(dir, "a/mounted"));
  const root = await OpenDir.open(dir);
  const parent = await root.enter(Buffer.from("a"));
  t.after(() => [root, parent].map((open) => open?.close()));
  const path = Buffer.from("a/mounted");
  const name = Buffer.from("mounted");
  await assert.rejects(root.enter(path), { code: "EXDEV" });
  await assert.rejects(parent!.enter(name), { code: "EXDEV" });
  for (const entered of [
    await root.enter(path, { crossMounts: true }),
    await parent!.enter(name, { crossMounts: true }),
  ]) {
    assert.deepEqual(await readdir(entered!.path), ["file"]);
    entered!.close();
  }
  assert.ok((await diskUsage(join(dir, "a"))).bytes < 1 << 20);
});
