import assert from "node:assert/strict";
import { test } from "node:test";
import type { CgroupResources } from "../../../lib/host/cgroups/cgroup-filesystem.ts";
import type { CgroupLimits } from "../../../lib/host/cgroups/limits-reader.ts";
import { memoryInUse } from "./memory-guard.ts";
import { podCgroupSteps } from "./resize-steps.ts";

const current: CgroupLimits = { cpuShares: 100n, cpuQuotaUs: 5000n, cpuPeriodUs: 100_000n, memoryLimit: 64n };
const period = { cpuPeriod: 100_000n };
const rows: [rule: string, desired: CgroupResources, before: unknown, after: unknown, now?: CgroupLimits][] =
  [
    ["nothing changes", { cpuShares: 100n, cpuQuota: 5000n, memory: 64n, ...period }, undefined, undefined],
    [
      "all grows",
      { cpuShares: 200n, cpuQuota: 6000n, memory: 128n, ...period },
      { cpuShares: 200n, cpuQuota: 6000n, memory: 128n, ...period },
      undefined,
    ],
    [
      "all shrinks",
      { cpuShares: 50n, cpuQuota: 4000n, memory: 32n, ...period },
      undefined,
      { cpuShares: 50n, cpuQuota: 4000n, memory: 32n, ...period },
    ],
    [
      "CPU grows and memory shrinks",
      { cpuShares: 100n, cpuQuota: 6000n, memory: 32n, ...period },
      { cpuQuota: 6000n, ...period },
      { memory: 32n },
    ],
    ["a quota is removed", { cpuQuota: -1n, ...period }, { cpuQuota: -1n, ...period }, undefined],
    [
      "there was no limit: it shrinks",
      { cpuQuota: 9000n, memory: 128n, ...period },
      undefined,
      { cpuQuota: 9000n, memory: 128n, ...period },
      { cpuQuotaUs: -1n },
    ],
    ["a limit that the pod no longer has is kept", { cpuShares: 100n }, undefined, undefined],
    [
      "other files come last",
      { unified: { "memory.min": "1" } },
      undefined,
      { unified: { "memory.min": "1" } },
    ],
  ];
for (const [rule, desired, before, after, now = current] of rows)
  test(`the cgroup of a pod: ${rule}`, () => {
    assert.deepEqual(podCgroupSteps(now, desired), { before, after });
  });

test("memory limits do not shrink below what is in use", () => {
  const pod = { limit: 10n, usage: 9n };
  const container = { container: "c", limit: 10n, usage: 5n };
  assert.equal(memoryInUse([]), undefined);
  assert.equal(memoryInUse([pod, container]), undefined);
  assert.equal(
    memoryInUse([{ ...pod, usage: 10n }, container]),
    "cannot decrease memory limits: attempting to set pod memory limit (10) below current usage (10)",
  );
  assert.equal(
    memoryInUse([
      { ...pod, usage: undefined },
      { ...container, usage: 11n },
    ]),
    'cannot decrease memory limits: [missing pod memory usage, attempting to set container "c" memory limit (10) below current usage (11)]',
  );
});
