import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import type { NodeFiles } from "./node-files.ts";

/** The fields of a process in /proc that identify its node. */
export interface ProcessInfo {
  readonly pid: number;
  readonly parent: number;
  /** In clock ticks since boot: together with the pid it identifies a process uniquely. */
  readonly startTime: string;
  readonly zombie: boolean;
  readonly args: readonly string[];
  /** Lines of /proc/<pid>/cgroup. */
  readonly cgroups: readonly string[];
  /** The mount that is the process's root, from its own mountinfo; only read for other mount namespaces. */
  readonly rootMount: string | undefined;
}

export interface NodeProcesses {
  readonly api: readonly ProcessInfo[];
  readonly containerd: readonly ProcessInfo[];
  readonly shims: readonly ProcessInfo[];
  readonly containers: readonly ProcessInfo[];
}

/**
 * The processes of one node: its containerd by its config file, its API by its directory, shims by their containerd socket, and
 * containers by descent from such a shim, by the node's cgroup, or by a root filesystem in the node's directory.
 */
export function processesOfNode(files: NodeFiles, all: readonly ProcessInfo[], self: number): NodeProcesses {
  const hasPair = (p: ProcessInfo, flag: string, value: string) =>
    p.args.some((arg, i) => arg === flag && p.args[i + 1] === value);
  const containerd = all.filter((p) => hasPair(p, "--config", files.containerd.config));
  const api = all.filter((p) => hasPair(p, "--dir", files.api.dir));
  const shims = all.filter((p) => hasPair(p, "-address", files.containerd.socket));
  const known = new Set(
    [self, ...containerd, ...api, ...shims].map((p) => (typeof p === "number" ? p : p.pid)),
  );
  const below = descendants(all, new Set(shims.map((p) => p.pid)));
  const inCgroup = new RegExp(`:${escapePattern(files.cgroupRoot)}(/|$)`);
  const containers = all.filter(
    (p) =>
      !known.has(p.pid) &&
      (below.has(p.pid) ||
        p.cgroups.some((line) => inCgroup.test(line)) ||
        (p.rootMount?.includes(`${files.containerd.root}/io.containerd.snapshotter`) ?? false)),
  );
  return { api, containerd, shims, containers };
}

function descendants(all: readonly ProcessInfo[], roots: ReadonlySet<number>): Set<number> {
  const children = new Map<number, number[]>();
  for (const p of all) children.set(p.parent, [...(children.get(p.parent) ?? []), p.pid]);
  const found = new Set<number>();
  const queue = [...roots];
  for (let pid = queue.pop(); pid !== undefined; pid = queue.pop()) {
    for (const child of children.get(pid) ?? []) {
      if (found.has(child)) continue;
      found.add(child);
      queue.push(child);
    }
  }
  return found;
}

export function readProcesses(): ProcessInfo[] {
  const ownMountNs = readlinkSync("/proc/self/ns/mnt");
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((name) => readProcess(Number(name), ownMountNs))
    .filter((p) => p !== undefined);
}

/** Undefined if the process does not exist. */
export function readProcess(pid: number, ownMountNs?: string): ProcessInfo | undefined {
  const read = (file: string) => readFileSync(`/proc/${pid}/${file}`, "utf8");
  try {
    const stat = read("stat");
    // The name in parentheses can contain any character; the fields after it are plain.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const zombie = fields[0] === "Z" || fields[0] === "X";
    return {
      pid,
      parent: Number(fields[1]),
      startTime: fields[19] ?? "",
      zombie,
      args: read("cmdline").split("\0").slice(0, -1),
      cgroups: read("cgroup").split("\n").filter(Boolean),
      rootMount: ownMountNs && !zombie ? foreignRoot(pid, ownMountNs) : undefined,
    };
  } catch {
    return undefined;
  }
}

function foreignRoot(pid: number, ownMountNs: string): string | undefined {
  try {
    if (readlinkSync(`/proc/${pid}/ns/mnt`) === ownMountNs) return undefined;
    const lines = readFileSync(`/proc/${pid}/mountinfo`, "utf8").split("\n");
    return lines.find((line) => line.split(" ")[4] === "/");
  } catch {
    return undefined;
  }
}

function escapePattern(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
