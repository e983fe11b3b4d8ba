import { constants } from "node:fs";
import { chmod, chown, lchown, open, stat } from "node:fs/promises";
import { allDone } from "../../../../lib/base/all-done.ts";
import { type Clock, msSince } from "../../../../lib/base/clock.ts";
import { abortError, messageOf } from "../../../../lib/base/errors.ts";
import { linux } from "../../../../lib/base/linux.ts";
import type { Logger } from "../../../../lib/base/logger.ts";
import type { RawPath } from "../../../../lib/host/entries.ts";
import { isReplaced, OpenDir, visitDirs } from "../../../../lib/host/open-dir.ts";
import type { Pod } from "../../../../lib/model/pod.ts";
import type { PodEvents } from "../../../../lib/model/pod-events.ts";
import type { VolumeSpec } from "../volume-plugin.ts";

export interface OwnershipRequest {
  readonly pod: Pod;
  readonly dir: string;
  readonly fsGroup: number | undefined;
  readonly policy: "Always" | "OnRootMismatch" | undefined;
  readonly readOnly: boolean;
  readonly signal: AbortSignal;
  /** For metrics: the name of a CSI volume contains the name of its driver. */
  readonly spec?: VolumeSpec;
}

export interface OwnershipOptions {
  readonly clock: Clock;
  readonly events: PodEvents;
  readonly logger: Logger;
  /** Called after the files were checked, not if they need not be. */
  readonly measured?: (ok: boolean, seconds: number) => void;
}

const setGid = 0o2000;
const firstReportMs = 30_000;
const nextReportMs = 60_000;
/** How many files of a directory are changed in parallel. A volume that hangs blocks as many threads. */
const concurrency = 4;
const pathOnly = linux.O_PATH | constants.O_NOFOLLOW; // does not open the file itself

/** The permissions that the group needs: directories also need x and setgid. */
export function groupMode(isDirectory: boolean, readOnly: boolean): number {
  return (readOnly ? 0o440 : 0o660) | (isDirectory ? setGid | 0o110 : 0);
}

/** True if the root of the volume already has the group and its permissions. The files below it are then not checked. */
export function rootMatches(
  root: { gid: number; mode: number; isDirectory(): boolean },
  fsGroup: number,
  readOnly: boolean,
): boolean {
  const needed = groupMode(true, readOnly);
  return root.isDirectory() && root.gid === fsGroup && (root.mode & needed) === needed;
}

/**
 * Sets the group of a volume's files to the pod's fsGroup. Files that cannot be changed are skipped. No name that a container could have
 * changed in the meantime is resolved: each directory is opened relative to its parent, and symlinks are not followed.
 */
export async function applyFsGroup(request: OwnershipRequest, o: OwnershipOptions): Promise<void> {
  const { dir, fsGroup, policy, readOnly, signal } = request;
  if (fsGroup === undefined) return;
  if (policy === "OnRootMismatch") {
    const root = await stat(dir).catch(() => undefined);
    if (root && rootMatches(root, fsGroup, readOnly)) return;
  }
  const startedAt = o.clock.monotonic();
  const measured = (ok: boolean) => o.measured?.(ok, msSince(o.clock, startedAt) / 1000);
  const walk: Walk = { fsGroup, readOnly, signal, files: 0, logger: o.logger };
  const stop = reportWhileSlow(request, walk, o);
  try {
    // The root last: an interrupted walk must not count as complete.
    const root = await OpenDir.open(dir, { follow: true });
    try {
      // Mounts in a volume are part of it.
      await visitDirs(root, (directory) => changeDir(directory, root, walk), { crossMounts: true });
      await change(root.path, await root.stat(), walk);
    } finally {
      root.close();
    }
    measured(true);
  } catch (error) {
    measured(false);
    throw error;
  } finally {
    stop();
  }
}

interface Walk {
  readonly fsGroup: number;
  readonly readOnly: boolean;
  readonly signal: AbortSignal;
  readonly logger: Logger;
  files: number;
}

/** Returns the names of the subdirectories. */
async function changeDir(dir: OpenDir, root: OpenDir, walk: Walk): Promise<Buffer[]> {
  const dirs: Buffer[] = [];
  for await (const names of dir.names(concurrency)) {
    if (walk.signal.aborted) throw abortError(walk.signal.reason);
    const isDir = await allDone(names.map((name) => changeEntry(dir.at(name), walk)));
    dirs.push(...names.filter((_, index) => isDir[index]));
  }
  if (dir !== root) await change(dir.path, await dir.stat(), walk);
  return dirs;
}

/** Changes an entry and returns false. Returns true for a directory, which it leaves unchanged. */
async function changeEntry(path: RawPath, walk: Walk): Promise<boolean> {
  const entry = await open(path, pathOnly).catch(unlessReplaced);
  if (!entry) return false;
  try {
    const found = await entry.stat();
    if (found.isDirectory()) return true;
    if (found.isSymbolicLink()) await changeGroup(path, walk);
    else await change(`/proc/self/fd/${entry.fd}`, found, walk);
    return false;
  } finally {
    await entry.close();
  }
}

function unlessReplaced(error: unknown): undefined {
  if (!isReplaced(error)) throw error;
}

/** `path` refers to an open file descriptor, not to a name. */
async function change(
  path: string | RawPath,
  found: { mode: number; gid: number; isDirectory(): boolean },
  walk: Walk,
): Promise<void> {
  walk.files++;
  const mode = (found.mode | groupMode(found.isDirectory(), walk.readOnly)) & 0o7777;
  try {
    if (found.gid !== walk.fsGroup) await chown(path, keepOwner, walk.fsGroup);
    // chown clears setuid and setgid.
    if (mode !== (found.mode & 0o7777) || (mode & 0o6000 && found.gid !== walk.fsGroup))
      await chmod(path, mode);
  } catch (error) {
    walk.logger.warn("Failed to set group ownership of volume file", {
      path: String(path),
      err: messageOf(error),
    });
  }
}

async function changeGroup(path: RawPath, walk: Walk): Promise<void> {
  walk.files++;
  await lchown(path, keepOwner, walk.fsGroup).catch((error) => {
    walk.logger.warn("Failed to set group ownership of volume symlink", {
      path: String(path),
      err: messageOf(error),
    });
  });
}

/** Keeps the owner. */
const keepOwner = -1;

/** Sends events while the change is slow, until the returned function is called. */
export function reportWhileSlow(
  { pod, dir }: Pick<OwnershipRequest, "pod" | "dir">,
  walk: { readonly files: number },
  { clock, events }: Pick<OwnershipOptions, "clock" | "events">,
): () => void {
  const at = dir.indexOf(pod.metadata.uid);
  const shown = at < 0 ? dir : dir.slice(at);
  const reason = "VolumePermissionChangeInProgress";
  let cancel = clock.after(firstReportMs, () => {
    const advice =
      "https://kubernetes.io/docs/tasks/configure-pod-container/security-context/#configure-volume-permission-and-ownership-change-policy-for-pods";
    events.warning(
      pod,
      reason,
      `Setting volume ownership for ${shown} is taking longer than expected, consider using OnRootMismatch - ${advice}`,
    );
    again();
  });
  const again = () => {
    cancel = clock.after(nextReportMs, () => {
      events.warning(pod, reason, `Setting volume ownership for ${shown}, processed ${walk.files} files.`);
      again();
    });
  };
  return () => cancel();
}
