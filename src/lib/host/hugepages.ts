import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { errnoOf } from "../base/errors.ts";

export interface HugepagePool {
  pageBytes: bigint;
  pages: bigint;
}

/** The preallocated huge pages, by size, smallest first. */
export async function readHugepagePools(dir = "/sys/kernel/mm/hugepages"): Promise<HugepagePool[]> {
  const names = await readdir(dir).catch((error: unknown) => {
    if (errnoOf(error) === "ENOENT") return [];
    throw error;
  });
  const pools: HugepagePool[] = [];
  for (const name of names) {
    const kilobytes = /^hugepages-(\d+)kB$/.exec(name)?.[1];
    if (!kilobytes) continue;
    const count = await readFile(join(dir, name, "nr_hugepages"), "utf8");
    pools.push({ pageBytes: BigInt(kilobytes) * 1024n, pages: BigInt(count.trim()) });
  }
  return pools.sort((a, b) => (a.pageBytes < b.pageBytes ? -1 : 1));
}
