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
    for (const { name, path } of mounts) {
      if (name !== volumeName) continue;
      if (path === ".." || path.startsWith("../"))
        throw new KubeletError("MountPoint", `invalid container mount point ${path}`);
      const inside = mounts.map((mount) => mount.path).filter((other) => isBelow(other, path));
      for (const other of inside)
        if (!inside.some((outer) => isBelow(other, outer))) found.add(other.slice(path.length + 1));
    }
  }
  return [...found];
}

function clean(path: string): string {
  const normal = posix.normalize(path);
  return normal.length > 1 ? normal.replace(/\/+$/, "") : normal;
}

function isBelow(path: string, dir: string): boolean {
  return path.startsWith(`${dir}/`);
}
