import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { cgroupMounts, parseMountinfo } from "../../src/lib/host/mount-table.ts";
import { cgroupTree } from "../../src/single-node/cgroup-trees.ts";
import type { NodeFiles } from "../../src/single-node/node-files.ts";
import { type ProcessInfo, readProcesses } from "../../src/single-node/processes.ts";

/** Resources of one kind, each with the details that identify its owner. */
type Resources = ReadonlyMap<string, string>;

/** Resources of a machine that a node could leave behind. */
export interface Snapshot {
  readonly processes: Resources;
  readonly mounts: Resources;
  readonly networkNamespaces: Resources;
  readonly links: Resources;
  readonly cgroups: Resources;
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
  // Without zombies, which their parents reap, kernel threads, which have no arguments, and this process.
  const processes = readProcesses().filter((p) => !p.zombie && p.args.length > 0 && p.pid !== process.pid);
  return {
    processes: new Map(processes.map((p) => [`${p.pid} ${p.args.join(" ")}`, aboutProcess(p)])),
    mounts: new Map(mounts.map((mount) => [`${mount.path} (${mount.fsType})`, mount.options.join(" ")])),
    networkNamespaces: new Map([...namespacesOf(processes), ...namespacesIn(mountinfo)]),
    links: new Map(readdirSync("/sys/class/net").map((name) => [name, bridgeOf(name)])),
    cgroups: new Map(
      cgroupMounts(mounts)
        .flatMap(cgroupTree)
        .map((dir) => [dir, ""]),
    ),
  };
}

/** New resources that pass the filter: on an isolated host all new resources, on a shared machine `ofNode(files)`. */
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

/**
 * True for what belongs to a local node: its directories, cgroup, network and bridge all contain its name. A port that has lost its bridge
 * does not, so a snapshot that was taken `during` the life of the node has to contain the port.
 */
export function ofNode(files: NodeFiles, during?: Snapshot): (leak: Leak) => boolean {
  // "t-1-1" is not "t-1-10", nor "kts-t-1-1" the end of another bridge's name.
  const isNamed = new RegExp(
    `(${files.base}|${files.run}|\\b(?<!-)(${files.network}|${files.bridge}))(?![\\w-])`,
  );
  const links = [...(during?.links ?? [])];
  const ports = new Set(links.filter(([, bridge]) => bridge === files.bridge).map(([link]) => link));
  return ({ kind, what, about }) =>
    isNamed.test(what) || isNamed.test(about) || (kind === "links" && ports.has(what));
}

/** Where it runs: its cgroups, its working directory, and the root filesystem that it sees if that is not the machine's. */
function aboutProcess(p: ProcessInfo): string {
  return [...p.cgroups, linkTarget(`/proc/${p.pid}/cwd`), p.rootMount ?? ""].join(" ");
}

/** The kernel reuses the inode of a deleted namespace, so the process or mount that uses it is part of its name. */
function namespacesOf(processes: readonly ProcessInfo[]): [string, string][] {
  return processes.flatMap((p): [string, string][] => {
    const namespace = linkTarget(`/proc/${p.pid}/ns/net`);
    return namespace ? [[`${namespace} of process ${p.pid}`, aboutProcess(p)]] : []; // exited in the meantime
  });
}

/** A namespace without a process is kept alive by a mount, whose root is "net:[inode]". */
function namespacesIn(mountinfo: string): [string, string][] {
  return [...mountinfo.matchAll(/ (net:\[\d+\]) (\S+) /g)].map((match) => [
    `${match[1]!} at ${match[2]!}`,
    "",
  ]);
}

function bridgeOf(link: string): string {
  return linkTarget(`/sys/class/net/${link}/master`).replace(/^.*\//, "");
}

function linkTarget(link: string): string {
  try {
    return readlinkSync(link);
  } catch {
    return "";
  }
}
