import { readFileSync } from "node:fs";

export interface MountPoint {
  readonly path: string;
  readonly fsType: string;
  /** Of the file system, not of this mount of it: for cgroup v1 the controllers. */
  readonly options: readonly string[];
}

/** Mount points in the order in which they were mounted, from the text of a mountinfo file. */
export function parseMountinfo(text: string): MountPoint[] {
  return text
    .split("\n")
    .map((line) => line.split(" "))
    .filter((fields) => fields.length > 6)
    .map((fields) => {
      const dash = fields.indexOf("-", 6);
      return {
        path: unescapeOctal(fields[4]!),
        fsType: fields[dash + 1] ?? "",
        options: (fields[dash + 3] ?? "").split(","),
      };
    });
}

/** The kernel writes space, tab, newline and backslash as \ooo. */
function unescapeOctal(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 8)));
}

export function readMounts(): MountPoint[] {
  return parseMountinfo(readFileSync("/proc/self/mountinfo", "utf8"));
}

/** Mount points at or below these folders, in the order in which they can be unmounted. */
export function mountsBelow(mounts: readonly MountPoint[], dirs: readonly string[]): string[] {
  const below = (path: string) => dirs.some((dir) => path === dir || path.startsWith(`${dir}/`));
  return mounts
    .map((mount) => mount.path)
    .filter(below)
    .reverse();
}

/** Where each cgroup hierarchy is mounted (version 1 has several, version 2 one, a hybrid both). */
export function cgroupMounts(mounts: readonly MountPoint[]): string[] {
  return mounts.filter((m) => m.fsType === "cgroup" || m.fsType === "cgroup2").map((m) => m.path);
}
