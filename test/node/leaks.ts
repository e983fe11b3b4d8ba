import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { cgroupMounts, parseMountinfo } from "../../src/host/mount-table.ts";
import { cgroupTree } from "../../src/local/cgroup-trees.ts";
import { type ProcessFacts, readProcesses } from "../../src/local/processes.ts";

/** Things of one kind, each with the words by which one can tell whose it is. */
type Things = ReadonlyMap<string, string>;

/** What of a machine a node could leave behind. */
export interface Snapshot {
  readonly processes: Things;
  readonly mounts: Things;
  readonly networkNamespaces: Things;
  readonly links: Things;
  readonly cgroups: Things;
}

export type Kind = keyof Snapshot;

export interface Leak {
  readonly kind: Kind;
  readonly what: string;
  readonly about: string;
}

export function snapshot(): Snapshot {
  const mountinfo = readFileSync("/proc/self/mountinfo", "utf8");
  const mounts = parseMountinfo(mountinfo);
  // Zombies are their parent's matter; kernel threads (no arguments) and this process nobody's.
  const processes = readProcesses().filter((p) => !p.zombie && p.args.length > 0 && p.pid !== process.pid);
  return {
    processes: new Map(processes.map((p) => [`${p.pid} ${p.args.join(" ")}`, p.cgroups.join(" ")])),
    mounts: new Map(mounts.map((mount) => [`${mount.path} (${mount.fsType})`, ""])),
    networkNamespaces: new Map([...namespacesOf(processes), ...namespacesIn(mountinfo)]),
    links: new Map(readdirSync("/sys/class/net").map((name) => [name, bridgeOf(name)])),
    cgroups: new Map(
      cgroupMounts(mounts)
        .flatMap(cgroupTree)
        .map((dir) => [dir, ""]),
    ),
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
      .filter(([what]) => !before[kind].has(what))
      .map(([what, about]) => ({ kind, what, about }))
      .filter(isOurs),
  );
}

/** True for what carries one of these words (a node's folder, bridge, cgroup) in its name or in what is known about it. */
export function mentions(...words: string[]): (leak: Leak) => boolean {
  return ({ what, about }) => words.some((word) => what.includes(word) || about.includes(word));
}

function namespacesOf(processes: readonly ProcessFacts[]): [string, string][] {
  return processes.flatMap((p): [string, string][] => {
    try {
      return [[readlinkSync(`/proc/${p.pid}/ns/net`), p.cgroups.join(" ")]];
    } catch {
      return []; // ended meanwhile
    }
  });
}

/** A namespace without a process lives on in a mount, whose root is "net:[inode]". */
function namespacesIn(mountinfo: string): [string, string][] {
  return [...mountinfo.matchAll(/ (net:\[\d+\]) (\S+) /g)].map((match) => [match[1]!, match[2]!]);
}

function bridgeOf(link: string): string {
  try {
    return readlinkSync(`/sys/class/net/${link}/master`);
  } catch {
    return "";
  }
}
