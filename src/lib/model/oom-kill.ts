/** A process that the kernel killed because memory ran out, as its log describes it. */
export interface OomKill {
  readonly pid: number;
  readonly process: string;
  /** The memory of the process that was resident, in bytes. */
  readonly residentBytes: number | undefined;
  /** The cgroup whose limit was reached; "/" if the machine ran out of memory. */
  readonly cgroup: string;
  /** The cgroup of the process; undefined if the log does not name it: old kernels, out of memory of the machine. */
  readonly victimCgroup: string | undefined;
  /** Usage and limit of `cgroup`, in bytes; undefined for the machine. */
  readonly usage: { readonly bytes: number; readonly limit: number } | undefined;
}

/** The cgroup of the whole machine. */
export const systemCgroup = "/";

/** True if the machine ran out of memory, not a cgroup that reached its limit. */
export function isSystemOom({ cgroup }: OomKill): boolean {
  return cgroup === systemCgroup;
}

/** The message of the node event for a system OOM. */
export function systemOomMessage({ process, pid }: OomKill): string {
  return `System OOM encountered, victim process: ${process}, pid: ${pid}`;
}

/** The container ID in the path of a cgroup: ".../<id>", or with a systemd scope ".../cri-containerd-<id>.scope". */
export function containerIdIn(cgroup: string | undefined): string | undefined {
  return cgroup?.split("/").flatMap((part) => /(?:^|-)([0-9a-f]{64})(?:\.scope)?$/.exec(part)?.[1] ?? [])[0];
}
