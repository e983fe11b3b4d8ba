import { posix } from "node:path";
import { KubeletError } from "../../../../lib/base/errors.ts";
import type { Pod } from "../../../../lib/model/pod.ts";

/**
 * Directories that a read-only volume must contain because other volumes are mounted on them. Only the outermost of nested directories
 * is needed.
 */
export function nestedMountPoints({ spec }: Pod, volumeName: string): string[] {
  const found = new Set<string>();
  const containers = [
    ...(spec.initContainers ?? []),
    ...spec.containers,
    ...(spec.ephemeralContainers ?? []),
  ];
  for (const { volumeMounts = [] } of containers) {
    const mounts = volumeMounts.map(({ name, mountPath }) => ({ name, path: clean(mountPath) }));
    const own = new Set(mounts.filter(({ name }) => name === volumeName).map(({ path }) => path));
    if (own.size === 0) continue;
    const sorted = sortedPaths(mounts.map(({ path }) => path));
    for (const path of own) {
      if (path === ".." || path.startsWith("../"))
        throw new KubeletError("MountPoint", `invalid container mount point ${path}`);
      for (const inside of outermostBelow(path, sorted)) found.add(inside);
    }
  }
  return [...found];
}

function clean(path: string): string {
  const normal = posix.normalize(path);
  return normal.length > 1 ? normal.replace(/\/+$/, "") : normal;
}

interface SortedPath {
  readonly path: string;
  readonly key: string;
}

/** Sorted so that all paths below a path follow it: a pod may have tens of thousands. */
function sortedPaths(paths: readonly string[]): SortedPath[] {
  return paths
    .map((path) => ({ path, key: keyOf(path) }))
    .sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
}

/** No character of a path is before the separator. */
function keyOf(path: string): string {
  return path.replaceAll("/", "\0");
}

/** Relative to `dir`. */
function* outermostBelow(dir: string, sorted: readonly SortedPath[]): Generator<string> {
  const prefix = `${dir}/`;
  const keyPrefix = keyOf(prefix);
  for (let at = firstFrom(keyPrefix, sorted); sorted[at]?.key.startsWith(keyPrefix); ) {
    const { path, key } = sorted[at]!;
    if (path.startsWith(prefix)) yield path.slice(prefix.length);
    // Continue after all paths below this one.
    at = firstFrom(`${key}\u0001`, sorted);
  }
}

/** The index of the first path whose key is not before this one. */
function firstFrom(key: string, sorted: readonly SortedPath[]): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle]!.key < key) low = middle + 1;
    else high = middle;
  }
  return low;
}
