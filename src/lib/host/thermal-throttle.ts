import { access, readdir } from "node:fs/promises";
import { join } from "node:path";
import { errnoOf } from "../base/errors.ts";

/** Directories that expose the temperature of a CPU, a side channel: hidden from containers where they exist. */
export async function readThermalThrottlePaths(cpuDir = "/sys/devices/system/cpu"): Promise<string[]> {
  const names = await readdir(cpuDir).catch((error: unknown) => {
    if (errnoOf(error) === "ENOENT") return [];
    throw error;
  });
  const numbers = names.flatMap((name) => /^cpu(\d+)$/.exec(name)?.[1] ?? []).map(Number);
  const paths = numbers
    .sort((a, b) => a - b)
    .map((number) => join(cpuDir, `cpu${number}`, "thermal_throttle"));
  const found = await Promise.all(
    paths.map((path) =>
      access(path).then(
        () => true,
        () => false,
      ),
    ),
  );
  return paths.filter((_, index) => found[index]);
}
