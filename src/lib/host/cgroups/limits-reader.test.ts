import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { limitsReader } from "./limits-reader.ts";
import { cgroupFilesystem, detectLayout } from "./mounted-cgroups.ts";

function directory(t: TestContext, files: Record<string, string>): string {
  const dir = mkdtempSync(join(tmpdir(), "limits-"));
  t.after(() => rmSync(dir, { recursive: true }));
  mkdirSync(join(dir, "pod"));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(dir, "pod", name), text);
  return dir;
}

test("limits in force, cgroup v1: no memory limit is a number of bytes", (t) => {
  const dir = directory(t, {
    "cpu.shares": "51\n",
    "cpu.cfs_quota_us": "-1\n",
    "cpu.cfs_period_us": "100000\n",
    "memory.limit_in_bytes": "9223372036854771712\n",
  });
  const mounts = new Map([
    ["cpu", dir],
    ["memory", dir],
  ]);
  assert.deepEqual(limitsReader({ version: 1, mounts })("/pod"), {
    cpuShares: 51n,
    cpuQuotaUs: -1n,
    cpuPeriodUs: 100_000n,
    memoryLimit: 9_223_372_036_854_771_712n,
  });
  assert.deepEqual(limitsReader({ version: 1, mounts })("/other"), {});
});

test("limits in force, cgroup v2: a weight is shares, and max is no limit", (t) => {
  const files = { "cpu.weight": "4\n", "cpu.max": "20000 100000\n", "memory.max": "67108864\n" };
  const read = (more: Record<string, string>) =>
    limitsReader({ version: 2, root: directory(t, { ...files, ...more }) })("/pod");
  assert.deepEqual(read({}), {
    cpuShares: 80n,
    cpuQuotaUs: 20_000n,
    cpuPeriodUs: 100_000n,
    memoryLimit: 64n << 20n,
  });
  assert.deepEqual(read({ "cpu.max": "max 100000\n", "memory.max": "max\n" }), {
    cpuShares: 80n,
    cpuQuotaUs: -1n,
    cpuPeriodUs: 100_000n,
  });
});

test("limits in force are those that were set", { skip: process.getuid?.() !== 0 }, async (t) => {
  const layout = await detectLayout();
  const filesystem = cgroupFilesystem(layout);
  const path = `/kubelet-ts-limits-${process.pid}`;
  t.after(() => filesystem.remove(path));
  await filesystem.create(path, { cpuQuota: 20_000n, cpuPeriod: 100_000n, memory: 64n << 20n });
  const { cpuQuotaUs, cpuPeriodUs, memoryLimit } = limitsReader(layout)(path);
  assert.deepEqual([cpuQuotaUs, cpuPeriodUs, memoryLimit], [20_000n, 100_000n, 64n << 20n]);
});
