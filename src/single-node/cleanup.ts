import { existsSync, readdirSync, readFileSync, rmdirSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { type Clock, msFromNow, sleep, systemClock } from "../lib/base/clock.ts";
import { messageOf } from "../lib/base/errors.ts";
import { type Logger, silentLogger } from "../lib/base/logger.ts";
import { cgroupMounts, mountsBelow, readMounts } from "../lib/host/mount-table.ts";
import { removeTree } from "../lib/host/remove-tree.ts";
import { systemCalls } from "../lib/host/system-calls.ts";
import { removeCgroups } from "./cgroup-trees.ts";
import { removeNetwork } from "./network-cleanup.ts";
import { derivedPaths, type NodeFiles } from "./node-files.ts";
import { type ProcessInfo, processesOfNode, readProcesses } from "./processes.ts";

export interface CleanupOptions {
  /** Files that are kept for the next start of the node. */
  readonly keep: "manifests and logs" | "nothing";
  readonly logger?: Logger;
  readonly clock?: Clock;
}

export interface CleanupReport {
  /** The number of killed processes and removed mounts: 0 and 0 if the node was stopped in order. */
  readonly killed: number;
  readonly unmounted: number;
  /** Descriptions of resources that could not be removed. */
  readonly remaining: readonly string[];
}

/**
 * Removes everything a local node has in the kernel and on disk, in any state, even after it was killed. Nothing that
 * belongs to others is touched. Idempotent.
 */
export async function cleanUpNode(files: NodeFiles, options: CleanupOptions): Promise<CleanupReport> {
  const { logger = silentLogger, clock = systemClock } = options;
  const remaining: string[] = [];
  const taskIds = containerIds(files);
  const { killed, containerCgroups, survivors } = await killProcesses(files, taskIds, clock);
  remaining.push(...survivors.map((p) => `process ${p.pid} (${p.args.join(" ")})`));
  const unmounted = await unmountAll(files, remaining);
  remaining.push(...(await removeNetwork(files)));
  removeShimSockets(files);
  const hierarchies = cgroupMounts(readMounts());
  const cgroups = hierarchies.flatMap((mount) =>
    [files.cgroupRoot, ...containerCgroups].map((path) => join(mount, path)),
  );
  remaining.push(...(await removeCgroups(cgroups, clock)).map((dir) => `cgroup ${dir}`));
  await removeFiles(files, options.keep, remaining);
  if (killed > 0 || unmounted > 0) {
    logger.info("Cleaned up leftovers of a previous run", {
      node: files.name,
      processes: killed,
      mounts: unmounted,
    });
  }
  for (const what of remaining) logger.warn("Failed to remove part of the node", { node: files.name, what });
  return { killed, unmounted, remaining: remaining };
}

/** Kills containerd first, so that it does not react to the exit of the others. */
async function killProcesses(files: NodeFiles, taskIds: ReadonlySet<string>, clock: Clock) {
  const deadline = msFromNow(clock, 10_000);
  const killed = new Set<number>();
  // They may be outside of the node's cgroup, if their container named no parent.
  const containerCgroups = new Set<string>();
  for (;;) {
    const { api, containerd, containers, shims } = processesOfNode(files, readProcesses(), process.pid);
    const alive = [...containerd, ...api, ...containers, ...shims].filter((p) => !p.zombie);
    if (alive.length === 0 || clock.monotonic() >= deadline) {
      return { killed: killed.size, containerCgroups: [...containerCgroups], survivors: alive };
    }
    for (const path of containers.flatMap(cgroupPaths))
      if (taskIds.has(basename(path))) containerCgroups.add(path);
    for (const { pid } of alive) {
      killed.add(pid);
      try {
        process.kill(pid, "SIGKILL");
      } catch {
        // exited in the meantime
      }
    }
    await sleep(clock, 20);
  }
}

/** The paths in /proc/<pid>/cgroup, one for each hierarchy. */
function cgroupPaths(p: ProcessInfo): string[] {
  return p.cgroups.map((line) => line.split(":").slice(2).join(":"));
}

function containerIds(files: NodeFiles): Set<string> {
  return new Set(bundles(files).map((bundle) => basename(bundle)));
}

/** containerd's bundles of running tasks: <state>/io.containerd.runtime.v2.task/<namespace>/<id>. */
function bundles(files: NodeFiles): string[] {
  const below = (dir: string) => (existsSync(dir) ? readdirSync(dir).map((name) => join(dir, name)) : []);
  return below(join(files.containerd.state, "io.containerd.runtime.v2.task")).flatMap(below);
}

/** Shims listen in a directory that all containerds of a machine share; each bundle contains the address. */
function removeShimSockets(files: NodeFiles): void {
  for (const bundle of bundles(files)) {
    for (const file of ["address", "bootstrap.json"]) {
      try {
        const socket = /unix:\/\/([^"\s]+)/.exec(readFileSync(join(bundle, file), "utf8"))?.[1];
        if (socket) rmSync(socket, { force: true });
      } catch {
        // this version of containerd writes the other file
      }
    }
  }
}

async function unmountAll(files: NodeFiles, remaining: string[]): Promise<number> {
  const dirs = [files.base, files.run];
  const mounts = mountsBelow(readMounts(), dirs);
  if (mounts.length === 0) return 0;
  const calls = await systemCalls();
  for (const path of mounts) {
    try {
      calls.unmount(path, false);
    } catch {
      try {
        calls.unmount(path, true);
      } catch (error) {
        remaining.push(messageOf(error));
      }
    }
  }
  return mounts.length;
}

async function removeFiles(
  files: NodeFiles,
  keep: CleanupOptions["keep"],
  remaining: string[],
): Promise<void> {
  // A mount that could not be removed may show unrelated files: then nothing is deleted.
  const mounted = mountsBelow(readMounts(), [files.base, files.run]);
  if (mounted.length > 0) {
    remaining.push(`files under ${files.base}: ${mounted[0]} is still mounted`);
    return;
  }
  const paths = keep === "nothing" ? [files.base, files.run] : derivedPaths(files);
  for (const path of paths) {
    try {
      await removeTree(path);
    } catch (error) {
      remaining.push(messageOf(error));
    }
  }
  if (keep !== "nothing") return;
  try {
    rmdirSync(dirname(files.base));
  } catch {
    // it has other nodes
  }
}
