import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, rmdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { notifyOnMemoryThresholds } from "./memory-thresholds.ts";
import { detectLayout } from "./mounted-cgroups.ts";

const layout = await detectLayout();
const mount = layout.version === 1 ? layout.mounts.get("memory") : undefined;
const skip = mount === undefined || process.getuid?.() !== 0 ? "needs root and cgroup v1" : false;

test("the kernel notifies when the usage of a cgroup crosses a value, and not after the thresholds are removed", {
  skip,
}, async (t) => {
  const dir = join(mount!, `memory-thresholds-${process.pid}`);
  mkdirSync(dir);
  t.after(() => rmdirSync(dir));
  const useMemory = () =>
    execFileSync(
      "sh",
      ["-c", `echo $$ > ${dir}/cgroup.procs && exec dd if=/dev/zero of=/dev/null bs=32M count=1`],
      {
        stdio: "ignore",
      },
    );
  let notified = 0;
  const crossed = Promise.withResolvers<void>();
  const remove = await notifyOnMemoryThresholds([{ dir, usageBytes: 8 << 20 }], () => {
    notified++;
    crossed.resolve();
  });
  useMemory();
  await crossed.promise;
  remove();
  const before = notified;
  useMemory();
  // A second descriptor is notified, so the first one would have been notified as well.
  const again = Promise.withResolvers<void>();
  const removeAgain = await notifyOnMemoryThresholds([{ dir, usageBytes: 8 << 20 }], again.resolve);
  useMemory();
  await again.promise;
  removeAgain();
  assert.equal(notified, before);
});

test("a cgroup that does not exist is an error", { skip }, async () => {
  await assert.rejects(
    () => notifyOnMemoryThresholds([{ dir: join(mount!, "does-not-exist"), usageBytes: 1 }], () => {}),
    { code: "ENOENT" },
  );
});
