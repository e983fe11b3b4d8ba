import { readFile } from "node:fs/promises";

/** The cgroup that accounts for this process; undefined if it is in the root cgroup, or in several. */
export async function readOwnCgroup(
  version: 1 | 2,
  selfCgroup = "/proc/self/cgroup",
): Promise<string | undefined> {
  return parseOwnCgroup(version, await readFile(selfCgroup, "utf8"));
}

/** Lines are "number:controller,controller:path"; the line of v2 names no controller. */
export function parseOwnCgroup(version: 1 | 2, text: string): string | undefined {
  const paths = new Map<string, string>();
  for (const line of text.split("\n")) {
    const [, controllers, path] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
    if (controllers === undefined || path === undefined) continue;
    for (const controller of controllers.split(",")) paths.set(controller, path);
  }
  const [cpu, memory] =
    version === 2 ? [paths.get(""), paths.get("")] : [paths.get("cpu"), paths.get("memory")];
  return cpu === memory && cpu !== "/" ? cpu : undefined;
}
