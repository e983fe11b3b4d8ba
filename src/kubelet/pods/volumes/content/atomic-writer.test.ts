import assert from "node:assert/strict";
import { lstatSync, mkdirSync, readFileSync, readlinkSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import fc from "fast-check";
import { systemClock } from "../../../../lib/base/clock.ts";
import { FakeClock } from "../../../../lib/base/fake-clock.ts";
import { hostMounts } from "../../../../lib/host/mounts.ts";
import { diskFiles, type FileCalls, writeAtomically } from "./atomic-writer.ts";
import { memoryFiles } from "./content-plugin.ts";
import { CrashingCalls } from "./fake-file-calls.ts";
import { filesOf, modeOf, payloadOf, rootOf, tempDir } from "./fake-volume-dir.ts";

const clock = systemClock;

describe("atomic writer", () => {
  it("writes files to a timestamped directory, with symlinks to them in the root", async (t) => {
    const dir = tempDir(t);
    const at = new FakeClock(Date.UTC(2026, 0, 31, 9, 5, 0));
    assert.equal(
      await writeAtomically(dir, payloadOf({ a: "1", "b/c": "2", "b/d/e": "3" }), { clock: at }),
      true,
    );
    assert.deepEqual(rootOf(dir), ["..<time>", "..data -> ..<time>", "a -> ..data/a", "b -> ..data/b"]);
    assert.match(readlinkSync(join(dir, "..data")), /^\.\.2026_01_31_09_05_00\.\d+$/);
    assert.equal(readFileSync(join(dir, "b/d/e"), "utf8"), "3");
  });

  it("touches nothing when the files are up to date", async (t) => {
    const dir = tempDir(t);
    const payload = payloadOf({ a: "1", "b/c": "2" });
    await writeAtomically(dir, payload, { clock });
    const before = readlinkSync(join(dir, "..data"));
    const changedAt = lstatSync(dir).ctimeMs;
    const calls = new CrashingCalls(-1);
    assert.equal(await writeAtomically(dir, payload, { clock, files: calls.calls }), false);
    assert.equal(calls.count, 0);
    assert.equal(readlinkSync(join(dir, "..data")), before);
    assert.equal(lstatSync(dir).ctimeMs, changedAt);
  });

  it("a failed write names the volume", async (t) => {
    const dir = tempDir(t);
    const full = Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
    const files = { ...diskFiles, writeFile: () => Promise.reject(full) } as FileCalls;
    await assert.rejects(writeAtomically(dir, payloadOf({ a: "1" }), { clock, files }), {
      message: `ENOSPC: no space left on device, write '${dir}'`,
      code: "ENOSPC",
    });
    assert.deepEqual(rootOf(dir), []);
  });

  const updates: [string, Record<string, string>, Record<string, string>, string[]][] = [
    ["changed content", { a: "1" }, { a: "2" }, ["a -> ..data/a"]],
    ["changed content of the same length", { a: "12" }, { a: "21" }, ["a -> ..data/a"]],
    ["an added file", { a: "1" }, { a: "1", b: "2" }, ["a -> ..data/a", "b -> ..data/b"]],
    ["a removed file", { a: "1", b: "2" }, { a: "1" }, ["a -> ..data/a"]],
    ["a removed file in a directory", { "a/b": "1", "a/c": "2" }, { "a/b": "1" }, ["a -> ..data/a"]],
    ["a file that becomes a directory", { a: "1" }, { "a/b": "1" }, ["a -> ..data/a"]],
    ["a directory that becomes a file", { "a/b": "1" }, { a: "1" }, ["a -> ..data/a"]],
    ["an empty payload", { a: "1", "b/c": "2" }, {}, []],
    ["an empty file", { a: "1" }, { a: "" }, ["a -> ..data/a"]],
  ];
  for (const [what, before, after, links] of updates)
    it(`writes ${what}, and removes the old files`, async (t) => {
      const dir = tempDir(t);
      await writeAtomically(dir, payloadOf(before), { clock });
      assert.equal(await writeAtomically(dir, payloadOf(after), { clock }), true);
      assert.deepEqual(rootOf(dir), ["..<time>", "..data -> ..<time>", ...links]);
      assert.deepEqual(filesOf(dir), after);
    });

  it("leaves mount points of other volumes alone", async (t) => {
    const dir = tempDir(t);
    mkdirSync(join(dir, "inner"));
    mkdirSync(join(dir, "a"));
    await writeAtomically(dir, payloadOf({ a: "1", b: "2" }), { clock });
    await writeAtomically(dir, payloadOf({ b: "3" }), { clock });
    assert.deepEqual(rootOf(dir), ["..<time>", "..data -> ..<time>", "a", "b -> ..data/b", "inner"]);
  });

  it("never removes the content of a mount", { skip: process.getuid?.() !== 0 }, async (t) => {
    const [dir, other] = [tempDir(t), tempDir(t)];
    writeFileSync(join(other, "kept"), "1");
    await writeAtomically(dir, payloadOf({ a: "1" }), { clock });
    const old = join(dir, readlinkSync(join(dir, "..data")), "mounted");
    mkdirSync(old);
    await hostMounts.bind(other, old);
    try {
      await assert.rejects(writeAtomically(dir, payloadOf({ a: "2" }), { clock }), { code: "EBUSY" });
    } finally {
      await hostMounts.unmount(old);
    }
    assert.equal(readFileSync(join(other, "kept"), "utf8"), "1");
  });

  it("writes again when a file was changed", async (t) => {
    const dir = tempDir(t);
    await writeAtomically(dir, payloadOf({ a: "1", b: "2" }), { clock });
    writeFileSync(join(dir, "..data", "a"), "");
    assert.equal(await writeAtomically(dir, payloadOf({ a: "1", b: "2" }), { clock }), true);
    assert.deepEqual(filesOf(dir), { a: "1", b: "2" });
  });

  for (const target of ["/etc", "../elsewhere", "..2026_01_01_00_00_00.1", "."])
    it(`ignores a ..data that points to ${target}`, async (t) => {
      const dir = tempDir(t);
      symlinkSync(target, join(dir, "..data"));
      assert.equal(await writeAtomically(dir, payloadOf({ a: "1" }), { clock }), true);
      assert.deepEqual(rootOf(dir), ["..<time>", "..data -> ..<time>", "a -> ..data/a"]);
    });

  describe("modes and owners", () => {
    const isRoot = process.getuid?.() === 0;

    it("do not depend on the umask", async (t) => {
      const previous = process.umask(0o077);
      t.after(() => process.umask(previous));
      const dir = tempDir(t);
      const payload = new Map([
        ["a", { data: Buffer.from("1"), mode: 0o400 }],
        ["b/c", { data: Buffer.from("1"), mode: 0o777 }],
      ]);
      await writeAtomically(dir, payload, { clock });
      const data = join(dir, readlinkSync(join(dir, "..data")));
      const modes = ["", "a", "b", "b/c"].map((path) => modeOf(join(data, path)));
      assert.deepEqual(modes, ["755", "400", "755", "777"]);
    });

    it("let the fsGroup read all files, and new files inherit it", { skip: !isRoot }, async (t) => {
      const dir = tempDir(t);
      const payload = new Map([["b/c", { data: Buffer.from("1"), mode: 0o600, user: 1234 }]]);
      await writeAtomically(dir, payload, { clock, fsGroup: 4321 });
      const data = join(dir, readlinkSync(join(dir, "..data")));
      const actual = ["", "b", "b/c"].map((path) => {
        const { uid, gid } = lstatSync(join(data, path));
        return [modeOf(join(data, path)), uid, gid];
      });
      assert.deepEqual(actual, [
        ["2755", 0, 4321],
        ["2755", 0, 4321],
        ["640", 1234, 4321],
      ]);
      assert.equal(modeOf(dir), "2750");
      assert.equal(lstatSync(join(dir, "b")).uid, 1234);
    });
  });

  describe("failures", () => {
    const failing = ["mkdir", "writeFile", "chmod", "symlink", "rename"] as const;
    for (const name of failing)
      it(`a failed ${name} leaves only the old files`, async (t) => {
        const dir = tempDir(t);
        await writeAtomically(dir, payloadOf({ a: "1" }), { clock });
        const full = Object.assign(new Error("ENOSPC: no space left on device"), { code: "ENOSPC" });
        const files: FileCalls = { ...diskFiles, [name]: () => Promise.reject(full) };
        await assert.rejects(writeAtomically(dir, payloadOf({ a: "2" }), { clock, files }), full);
        assert.deepEqual(rootOf(dir), ["..<time>", "..data -> ..<time>", "a -> ..data/a"]);
        assert.deepEqual(filesOf(dir), { a: "1" });
        assert.equal(await writeAtomically(dir, payloadOf({ a: "2" }), { clock }), true);
        assert.deepEqual(filesOf(dir), { a: "2" });
      });
  });

  const someFiles = fc.dictionary(
    fc.constantFrom("a", "b", "c", "d/a", "d/b", "e/f/g"),
    fc.constantFrom("", "one", "two", "x".repeat(5000)),
    { noNullPrototype: true },
  );

  it("after a kill at any call the old or the new files are visible, and the next write cleans up", async (t) => {
    const killed = fc.asyncProperty(
      someFiles,
      fc.array(fc.tuple(someFiles, fc.nat(30)), { minLength: 1, maxLength: 4 }),
      someFiles,
      async (first, writes, last) => {
        const dir = tempDir(t);
        await writeAtomically(dir, payloadOf(first), { clock });
        for (const [desired, crashAt] of writes) {
          const before = filesOf(dir);
          const { calls } = new CrashingCalls(crashAt);
          const done = await writeAtomically(dir, payloadOf(desired), { clock, files: calls }).then(
            () => true,
            () => false,
          );
          const actual = filesOf(dir);
          if (done) assert.deepEqual(actual, sorted(desired));
          else
            assert.ok(
              [before, sorted(desired)].some((files) => isSame(actual, files)),
              JSON.stringify(actual),
            );
        }
        await writeAtomically(dir, payloadOf(last), { clock });
        assert.deepEqual(filesOf(dir), sorted(last));
        const links = [...new Set(Object.keys(last).map((path) => path.split("/")[0] ?? ""))].sort((a, b) =>
          a < b ? -1 : 1,
        );
        assert.deepEqual(rootOf(dir), [
          "..<time>",
          "..data -> ..<time>",
          ...links.map((name) => `${name} -> ..data/${name}`),
        ]);
      },
    );
    await fc.assert(killed, { numRuns: 150, seed: 5 });
  });
});

function sorted(files: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(files).sort(([a], [b]) => (a < b ? -1 : 1)));
}

function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

it("lets others run between the files of a volume in memory", async (t) => {
  const dir = tempDir(t);
  const names = Array.from({ length: 2000 }, (_, index) => `file-${index}`);
  let turns = 0;
  let isWriting = true;
  const count = () => {
    turns++;
    if (isWriting) setImmediate(count);
  };
  setImmediate(count);
  const files = payloadOf(Object.fromEntries(names.map((name) => [name, name])));
  await writeAtomically(dir, files, { clock: systemClock, files: memoryFiles });
  isWriting = false;
  assert.ok(turns > 20, `${turns} turns of the event loop`);
});
