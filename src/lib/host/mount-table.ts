import { readFileSync } from "node:fs";

export interface MountPoint {
  /** Unlike the path, it differs for each mount. */
  readonly id: number;
  readonly parentId: number;
  /** The device number of the filesystem: "8:1". */
  readonly device: string;
  /** The part of the filesystem that is visible here: "/" unless it is a bind mount of a directory in it. */
  readonly root: string;
  readonly path: string;
  readonly fsType: string;
  readonly source: string;
  /** The options of this mount: "ro", "nosuid", … */
  readonly mountOptions: readonly string[];
  /** Superblock options: for cgroup v1 the controllers. */
  readonly options: readonly string[];
  /** True if its propagation is shared. */
  readonly shared: boolean;
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
        id: Number(fields[0]),
        parentId: Number(fields[1]),
        device: fields[2]!,
        root: unescapeOctal(fields[3]!),
        path: unescapeOctal(fields[4]!),
        mountOptions: fields[5]!.split(","),
        shared: fields.slice(6, dash).some((field) => field.startsWith("shared:")),
        fsType: fields[dash + 1] ?? "",
        source: unescapeOctal(fields[dash + 2] ?? ""),
        options: (fields[dash + 3] ?? "").split(","),
      };
    });
}

/** The kernel writes space, tab, newline and backslash as \ooo. */
function unescapeOctal(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 8)));
}

function escapeOctal(path: string): string {
  return path.replace(/[ \t\n\\]/g, (c) => `\\${c.charCodeAt(0).toString(8).padStart(3, "0")}`);
}

export function readMounts(): MountPoint[] {
  return parseMountinfo(readFileSync("/proc/self/mountinfo", "utf8"));
}

/** The same as mountAt() of all mounts, without parsing the others: a busy node has hundreds. */
export function findMount(text: string, path: string): MountPoint | undefined {
  const needle = ` ${escapeOctal(path)} `;
  const lines: string[] = [];
  for (let at = text.indexOf(needle); at >= 0; at = text.indexOf(needle, at + 1)) {
    const end = text.indexOf("\n", at);
    lines.push(text.slice(text.lastIndexOf("\n", at) + 1, end < 0 ? undefined : end));
  }
  return mountAt(parseMountinfo(lines.join("\n")), path);
}

/** Mount points at or below a directory, in unmount order. */
export function findMountsBelow(text: string, dir: string): string[] {
  const escaped = escapeOctal(dir);
  if (!text.includes(` ${escaped} `) && !text.includes(` ${escaped}/`)) return [];
  return mountsBelow(parseMountinfo(text), [dir]);
}

export function readMountsBelow(dir: string): string[] {
  return findMountsBelow(readFileSync("/proc/self/mountinfo", "utf8"), dir);
}

export function readMountAt(path: string): MountPoint | undefined {
  return findMount(readFileSync("/proc/self/mountinfo", "utf8"), path);
}

/** The mount at exactly this path, the topmost if there are several. */
export function mountAt(mounts: readonly MountPoint[], path: string): MountPoint | undefined {
  return mounts.findLast((mount) => mount.path === path);
}

/** Mount points at or below these directories, in unmount order. */
export function mountsBelow(mounts: readonly MountPoint[], dirs: readonly string[]): string[] {
  const below = (path: string) => dirs.some((dir) => path === dir || path.startsWith(`${dir}/`));
  return mounts
    .map((mount) => mount.path)
    .filter(below)
    .reverse();
}

/** Other mount points of the same part of the same filesystem. */
export function mountReferences(mounts: readonly MountPoint[], path: string): string[] {
  const own = mountAt(mounts, path);
  if (!own) return [];
  const same = (m: MountPoint) => m.device === own.device && m.root === own.root && m.path !== path;
  return [...new Set(mounts.filter(same).map((m) => m.path))];
}

/** The mount points of cgroup hierarchies (version 1 has several, version 2 one, a hybrid both). */
export function cgroupMounts(mounts: readonly MountPoint[]): string[] {
  return mounts.filter((m) => m.fsType === "cgroup" || m.fsType === "cgroup2").map((m) => m.path);
}
