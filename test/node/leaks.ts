import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { cgroupTree } from "../../src/local/cgroup-trees.ts";
import { cgroupMounts, parseMountinfo } from "../../src/local/mount-table.ts";

/** What of a machine a node could leave behind: one line for each thing, by kind. */
export interface Snapshot {
  readonly processes: ReadonlySet<string>;
  readonly mounts: ReadonlySet<string>;
  readonly networkNamespaces: ReadonlySet<string>;
  readonly links: ReadonlySet<string>;
  readonly cgroups: ReadonlySet<string>;
}

export type Kind = keyof Snapshot;

export interface Leak {
  readonly kind: Kind;
  readonly what: string;
}

export function snapshot(): Snapshot {
  const mountinfo = readFileSync("/proc/self/mountinfo", "utf8");
  const mounts = parseMountinfo(mountinfo);
  return {
    processes: new Set(processes()),
    mounts: new Set(mounts.map((mount) => `${mount.path} (${mount.fsType})`)),
    networkNamespaces: new Set([...processNamespaces(), ...mountedNamespaces(mountinfo)]),
    links: new Set(readdirSync("/sys/class/net")),
    cgroups: new Set(cgroupMounts(mounts).flatMap(cgroupTree)),
  };
}

/** What came since and passes the filter: within a box take all, on a shared machine what `mentions(node)`. */
export function leaks(
  before: Snapshot,
  after: Snapshot,
  isOurs: (leak: Leak) => boolean = () => true,
): Leak[] {
  return (Object.keys(after) as Kind[]).flatMap((kind) =>
    [...after[kind]]
      .filter((what) => !before[kind].has(what))
      .map((what) => ({ kind, what }))
      .filter(isOurs),
  );
}

/** True for what carries one of these words (a node's name, bridge, folder) in its path, arguments or name. */
export function mentions(...words: string[]): (leak: Leak) => boolean {
  return ({ what }) => words.some((word) => what.includes(word));
}

/** Zombies are their parent's matter; kernel threads and this process nobody's. */
function processes(): string[] {
  return pids().flatMap((pid) => {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
      const state = stat.slice(stat.lastIndexOf(")") + 2, stat.lastIndexOf(")") + 3);
      const args = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").join(" ").trim();
      return state === "Z" || args === "" || Number(pid) === process.pid ? [] : [`${pid} ${args}`];
    } catch {
      return [];
    }
  });
}

function processNamespaces(): string[] {
  return pids().flatMap((pid) => {
    try {
      return [readlinkSync(`/proc/${pid}/ns/net`)];
    } catch {
      return [];
    }
  });
}

/** A namespace without a process lives on in a mount: its root is "net:[inode]". */
function mountedNamespaces(mountinfo: string): string[] {
  return [...mountinfo.matchAll(/ (net:\[\d+\]) /g)].map((match) => match[1]!);
}

function pids(): string[] {
  return readdirSync(join("/proc")).filter((name) => /^\d+$/.test(name));
}
