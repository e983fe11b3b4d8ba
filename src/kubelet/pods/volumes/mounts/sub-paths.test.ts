import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { once } from "node:events";
import { access, mkdir, readdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { hostMounts } from "../../../../lib/host/mounts.ts";
import type { PodUid } from "../../../../lib/model/pod.ts";
import { mayMount, testRoot } from "../fake-parts.ts";
import { SubPaths } from "./sub-paths.ts";

const attempts = 2_000;
/** In parallel, each with its own mount: most of the time is spent in the kernel, for unmounting. */
const concurrency = 16;

test(`a container that swaps directories for symlinks never escapes its volume in ${attempts} attempts`, {
  skip: !mayMount && "needs root",
}, async (t) => {
  const { rootDir, remove } = await testRoot();
  let endAttack = async () => {};
  t.after(async () => {
    await endAttack();
    await remove();
  });
  const volume = join(rootDir, "volume");
  const outside = join(rootDir, "outside");
  // The same names as in the volume, so that an escape would succeed.
  for (const dir of [volume, outside])
    for (const path of ["a/deep/part", "b", "deep/part"]) await mkdir(join(dir, path), { recursive: true });
  await mkdir(join(outside, "part"));
  await writeFile(join(outside, "secret"), "x");
  // A separate filesystem identifies the files of the volume.
  await hostMounts.mountTmpfs(volume);
  for (const path of ["a/deep/part", "b"]) await mkdir(join(volume, path), { recursive: true });
  const inside = (await stat(volume)).dev;
  const before = await namesBelow(outside);

  const attacker = fork(
    fileURLToPath(import.meta.resolve("../../../../../test/volumes/swap-attack.ts")),
    [volume, outside],
    {
      // Without the options of the test run, which would treat the arguments as tests.
      execArgv: [],
    },
  );
  const ended = once(attacker, "exit");
  endAttack = async () => {
    attacker.kill("SIGKILL");
    await ended;
  };
  await once(attacker, "message");

  const subPaths = new SubPaths({ rootDir, mounts: hostMounts });
  const podUid = "attacked" as PodUid;
  const targets = ["a", "a/deep", "a/deep/part", "b", "b/created/here"];
  const counts = { mounted: 0, rejected: 0 };
  let left = attempts;
  const attempt = async (index: number) => {
    while (left-- > 0) {
      const subPath = targets[left % targets.length]!;
      const request = { podUid, volume: "v", volumePath: volume, container: "c", index, subPath };
      try {
        const path = await subPaths.prepare(request);
        assert.equal((await stat(path)).dev, inside, `${subPath} led out of the volume`);
        counts.mounted++;
      } catch (error) {
        if (error instanceof assert.AssertionError) throw error;
        counts.rejected++;
      }
    }
  };
  await Promise.all(Array.from({ length: concurrency }, (_, index) => attempt(index)));
  assert.equal(counts.mounted + counts.rejected, attempts);
  assert.equal(attacker.exitCode, null, "the attack ran until the end");
  await endAttack();
  await subPaths.clean(podUid, "v");
  await assert.rejects(access(join(rootDir, "pods", podUid, "volume-subpaths")));
  assert.deepEqual(await namesBelow(outside), before, "something was created outside of the volume");
  // Both have to occur, or there was no race.
  t.diagnostic(JSON.stringify(counts));
  assert.ok(counts.mounted > 0 && counts.rejected > 0, JSON.stringify(counts));
});

async function namesBelow(dir: string): Promise<string[]> {
  return (await readdir(dir, { recursive: true })).toSorted((a, b) => (a < b ? -1 : 1));
}
