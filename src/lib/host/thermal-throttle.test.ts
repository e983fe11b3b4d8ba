import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it } from "node:test";
import { readThermalThrottlePaths } from "./thermal-throttle.ts";

it("thermal_throttle directories are sorted by CPU number", async () => {
  const dir = await mkdtemp(join(tmpdir(), "cpu-"));
  try {
    for (const path of [
      "cpu10/thermal_throttle",
      "cpu2/thermal_throttle",
      "cpu3/topology",
      "cpufreq/thermal_throttle",
    ]) {
      await mkdir(join(dir, path), { recursive: true });
    }
    const want = [join(dir, "cpu2/thermal_throttle"), join(dir, "cpu10/thermal_throttle")];
    assert.deepEqual(await readThermalThrottlePaths(dir), want);
    assert.deepEqual(await readThermalThrottlePaths(join(dir, "none")), []);
  } finally {
    await rm(dir, { recursive: true });
  }
});
