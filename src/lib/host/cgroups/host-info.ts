import { access, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { errnoOf } from "../../base/errors.ts";
import { hugepageUnit } from "../../model/resources.ts";
import type { CgroupLayout } from "./layout.ts";

/** The host's huge page sizes as the hugetlb controller writes them, smallest first: ["2MB", "1GB"]. */
export async function readHugepageSizes(dir = "/sys/kernel/mm/hugepages"): Promise<string[]> {
  const names = await readdir(dir).catch((error: unknown) => {
    if (errnoOf(error) === "ENOENT") return [];
    throw error;
  });
  return names
    .flatMap((name) => /^hugepages-(\d+)kB$/.exec(name)?.[1] ?? [])
    .map((kilobytes) => BigInt(kilobytes) * 1024n)
    .sort((a, b) => (a < b ? -1 : 1))
    .map(hugepageUnit);
}

/** True if this kernel can limit swap for a cgroup. */
export async function hasSwapAccounting(
  layout: CgroupLayout,
  selfCgroup = "/proc/self/cgroup",
): Promise<boolean> {
  if (layout.version === 1) {
    const memory = layout.mounts.get("memory");
    return memory !== undefined && exists(join(memory, "memory.memsw.limit_in_bytes"));
  }
  // The root cgroup of v2 has no such file: check the cgroup of this process.
  const own = /^0::(.*)$/m.exec(await readFile(selfCgroup, "utf8"))?.[1];
  return own !== undefined && exists(join(layout.root, own, "memory.swap.max"));
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
