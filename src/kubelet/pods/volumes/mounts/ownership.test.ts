import assert from "node:assert/strict";
import { chmod, chown, lstat, mkdir, rename, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, test } from "node:test";
import { FakeClock } from "../../../../lib/base/fake-clock.ts";
import { silentLogger } from "../../../../lib/base/logger.ts";
import { rawJoin } from "../../../../lib/host/entries.ts";
import { descriptorsDuring } from "../../../../lib/host/fake-descriptors.ts";
import { fakePod } from "../../../../lib/model/fake-pod.ts";
import type { PodUid } from "../../../../lib/model/pod.ts";
import { mayMount, testRoot } from "../fake-parts.ts";
import { applyFsGroup, groupMode, type OwnershipRequest, reportWhileSlow, rootMatches } from "./ownership.ts";

test("the group may read and write, or only read; directories also have x and setgid", () => {
  const table: [isDirectory: boolean, readOnly: boolean, mode: number][] = [
    [false, false, 0o660],
    [false, true, 0o440],
    [true, false, 0o2770],
    [true, true, 0o2550],
  ];
  for (const [isDirectory, readOnly, mode] of table) assert.equal(groupMode(isDirectory, readOnly), mode);
});

test("a root matches if it is a directory of the group with at least the needed permissions", () => {
  const root = (gid: number, mode: number, isDirectory = true) => ({
    gid,
    mode,
    isDirectory: () => isDirectory,
  });
  const table: [ReturnType<typeof root>, boolean, boolean][] = [
    [root(5, 0o2770), false, true],
    [root(5, 0o2777), false, true],
    [root(6, 0o2770), false, false],
    [root(5, 0o770), false, false],
    [root(5, 0o2750), false, false],
    [root(5, 0o2750), true, true],
    [root(5, 0o2770, false), false, false],
  ];
  for (const [found, readOnly, matches] of table) assert.equal(rootMatches(found, 5, readOnly), matches);
});

// parity: event VolumePermissionChangeInProgress
test("a slow change is reported after 30 s and then every minute", async () => {
  const clock = new FakeClock();
  const reported: string[] = [];
  const record = (_: unknown, reason: string, message: string) =>
    reported.push(`${reason}: ${message.slice(0, 60)}`);
  const walk = { files: 7 };
  const pod = fakePod({ metadata: { uid: "u1" as PodUid } });
  const dir = "/root/pods/u1/volumes/p/v";
  const stop = reportWhileSlow({ pod, dir }, walk, { clock, events: { normal: record, warning: record } });
  await clock.advance(29_999);
  assert.deepEqual(reported, []);
  await clock.advance(60_001);
  assert.deepEqual(reported, [
    "VolumePermissionChangeInProgress: Setting volume ownership for u1/volumes/p/v is taking longer",
    "VolumePermissionChangeInProgress: Setting volume ownership for u1/volumes/p/v, processed 7 fil",
  ]);
  stop();
  await clock.advance(600_000);
  assert.equal(reported.length, 2);
});

describe("fsGroup on files", { skip: !mayMount && "needs root" }, () => {
  let rootDir = "";
  let remove = async () => {};
  let dir = "";
  const events: string[] = [];
  const record = (_: unknown, reason: string, message: string) => events.push(`${reason}: ${message}`);
  const options = (clock = new FakeClock()) => ({
    clock,
    logger: silentLogger,
    events: { normal: record, warning: record },
  });
  const request = (over: Partial<OwnershipRequest> = {}): OwnershipRequest => ({
    pod: fakePod({ metadata: { uid: "u1" as PodUid } }),
    dir,
    fsGroup: 4321,
    policy: undefined,
    readOnly: false,
    signal: new AbortController().signal,
    ...over,
  });
  const of = async (name: string) => {
    const { gid, mode } = await lstat(join(dir, name));
    return [gid, (mode & 0o7777).toString(8)];
  };

  beforeEach(async () => {
    events.length = 0;
    ({ rootDir, remove } = await testRoot());
    dir = join(rootDir, "u1/volume");
    await mkdir(join(dir, "sub"), { recursive: true });
    await writeFile(join(rootDir, "outside"), "");
    await chmod(join(rootDir, "outside"), 0o600);
    await writeFile(join(dir, "sub/file"), "");
    await chmod(join(dir, "sub/file"), 0o600);
    await chmod(join(dir, "sub"), 0o755);
    await writeFile(join(dir, "suid"), "");
    await chown(join(dir, "suid"), 7, 7);
    await chmod(join(dir, "suid"), 0o4711);
    await symlink(join(rootDir, "outside"), join(dir, "link"));
  });
  afterEach(() => remove());

  test("every file gets the group and its permissions, keeps its owner, and symlinks are not followed", async () => {
    await applyFsGroup(request(), options());
    assert.deepEqual(await of(""), [4321, "2775"]);
    assert.deepEqual(await of("sub"), [4321, "2775"]);
    assert.deepEqual(await of("sub/file"), [4321, "660"]);
    assert.deepEqual(await of("suid"), [4321, "4771"]);
    assert.equal((await stat(join(dir, "suid"))).uid, 7);
    assert.equal((await lstat(join(dir, "link"))).gid, 4321);
    const outside = await stat(join(rootDir, "outside"));
    assert.deepEqual([outside.gid, outside.mode & 0o777], [0, 0o600]);
  });

  test("a file whose name is not UTF-8 gets the group", async () => {
    const path = rawJoin(Buffer.from(join(dir, "sub")), Buffer.from([0xff, 0xfe]));
    await writeFile(path, "");
    await applyFsGroup(request(), options());
    assert.equal((await lstat(path)).gid, 4321);
  });

  test("directories that are nested deeply get the group, with few file descriptors", async () => {
    const levels = Array.from({ length: 300 }, () => "d").join("/");
    await mkdir(join(dir, levels), { recursive: true });
    const descriptors = await descriptorsDuring(() => applyFsGroup(request(), options()));
    assert.ok(descriptors < 20, `${descriptors} descriptors`);
    assert.deepEqual(await of(levels), [4321, "2775"]);
  });

  test("a directory that a container replaces by a link in the meantime is not changed at the other end", async () => {
    const outside = join(rootDir, "other");
    await mkdir(outside);
    await writeFile(join(outside, "file"), "");
    const names = Array.from({ length: 20 }, (_, index) => `s${index}`);
    for (const name of names) await mkdir(join(dir, name));
    const applied = applyFsGroup(request(), options());
    for (const name of names) {
      await rename(join(dir, name), join(dir, `${name}.dir`));
      await symlink(outside, join(dir, name));
    }
    await applied;
    for (const path of [outside, join(outside, "file")]) assert.equal((await stat(path)).gid, 0);
  });

  test("the group may only read a read-only volume", async () => {
    await applyFsGroup(request({ readOnly: true }), options());
    assert.deepEqual(await of("sub/file"), [4321, "640"]);
  });

  test("OnRootMismatch checks the root only; Always and no policy check all files", async () => {
    for (const policy of ["OnRootMismatch", "Always", undefined] as const) {
      await chown(dir, 0, 4321);
      await chmod(dir, 0o2775);
      await chown(join(dir, "sub/file"), 0, 0);
      await applyFsGroup(request({ policy }), options());
      assert.equal((await of("sub/file"))[0], policy === "OnRootMismatch" ? 0 : 4321, policy);
    }
    await chmod(dir, 0o775);
    await chown(join(dir, "sub/file"), 0, 0);
    await applyFsGroup(request({ policy: "OnRootMismatch" }), options());
    assert.equal((await of("sub/file"))[0], 4321);
  });

  test("no file is changed if the pod has no fsGroup", async () => {
    await applyFsGroup(request({ fsGroup: undefined }), options());
    assert.deepEqual(await of("sub/file"), [0, "600"]);
  });

  test("an abort stops it, and the root does not match yet", async () => {
    const abort = new AbortController();
    abort.abort();
    await assert.rejects(applyFsGroup(request({ signal: abort.signal }), options()), { name: "AbortError" });
    assert.notEqual((await of(""))[0], 4321);
  });
});
