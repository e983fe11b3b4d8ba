import { join } from "node:path";
import { KubeletError } from "../../base/errors.ts";
import { type CgroupFiles, isGone } from "./files.ts";

/** A path that may be created, killed and removed: never the root, never outside it. */
export function checkPath(path: string): string {
  const parts = path.split("/").slice(1);
  if (!path.startsWith("/") || parts.some((part) => part === "" || part === "." || part === "..")) {
    throw new KubeletError("InvalidCgroup", `"${path}" is not the absolute path of a cgroup below the root`);
  }
  return path;
}

/** "/a/b/c" -> ["/a", "/a/b", "/a/b/c"] */
export function pathAndParents(path: string): string[] {
  const parts = path.split("/").slice(1);
  return parts.map((_, index) => `/${parts.slice(0, index + 1).join("/")}`);
}

/** The directory and everything below it, deepest first. */
export async function dirsBelow(files: CgroupFiles, dir: string): Promise<string[]> {
  const below: string[] = [];
  for (const name of await files.dirs(dir)) below.push(...(await dirsBelow(files, join(dir, name))));
  return [...below, dir];
}

/**
 * Processes of one cgroup. A process of another pid namespace shows as 0, which must never reach kill(2): there it
 * means one's own process group.
 */
export async function readPids(files: CgroupFiles, dir: string): Promise<number[]> {
  try {
    const text = await files.read(join(dir, "cgroup.procs"));
    return text
      .split("\n")
      .map(Number)
      .filter((pid) => Number.isInteger(pid) && pid > 0);
  } catch (error) {
    if (isGone(error)) return [];
    throw error;
  }
}

/** Processes of the directory and everything below, each once, in order. */
export async function pidsBelow(files: CgroupFiles, dirs: readonly string[]): Promise<number[]> {
  const found = new Set<number>();
  for (const dir of dirs) {
    for (const directory of await dirsBelow(files, dir)) {
      for (const pid of await readPids(files, directory)) found.add(pid);
    }
  }
  return [...found].sort((a, b) => a - b);
}
