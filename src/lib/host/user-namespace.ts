import { readFile } from "node:fs/promises";

/** True if root here is not root of the machine. */
export async function isInUserNamespace(file = "/proc/self/uid_map"): Promise<boolean> {
  // A kernel without user namespaces has no such file.
  const map = await readFile(file, "utf8").catch(() => undefined);
  return map !== undefined && !/^\s*0\s+0\s+4294967295\s*$/.test(map);
}
