import type { CgroupFiles } from "./files.ts";
import { parseFlatKeyed } from "./interface-files.ts";

export interface MachineMemory {
  readonly total: number;
  readonly swapTotal: number;
  readonly swapFree: number;
}

/** The sizes of memory and swap in bytes, from /proc/meminfo. They are the limits of the root cgroup, which has none of its own. */
export async function readMachineMemory(
  files: Pick<CgroupFiles, "read">,
  path: string,
): Promise<MachineMemory> {
  const text = await files.read(path);
  const table = parseFlatKeyed(text.replaceAll(":", "").replace(/ +/g, " ").replaceAll(" kB", ""));
  const bytes = (key: string) => (table.get(key) ?? 0) * 1024;
  return { total: bytes("MemTotal"), swapTotal: bytes("SwapTotal"), swapFree: bytes("SwapFree") };
}
