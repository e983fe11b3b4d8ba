import { constants } from "node:fs";
import { chmod, chown, type FileHandle, lchown, open, stat } from "node:fs/promises";
import type { Clock } from "../../../../lib/base/clock.ts";
import { abortError, errnoOf, messageOf } from "../../../../lib/base/errors.ts";
import type { Logger } from "../../../../lib/base/logger.ts";
import { namesIn, type RawPath, rawJoin } from "../../../../lib/host/entries.ts";
import type { Pod } from "../../../../lib/model/pod.ts";
import type { PodEvents } from "../../../../lib/model/pod-events.ts";

export interface OwnershipRequest {
  readonly pod: Pod;
  readonly dir: string;
  readonly fsGroup: number | undefined;
  readonly policy: "Always" | "OnRootMismatch" | undefined;
  readonly readOnly: boolean;
  readonly signal: AbortSignal;
}

export interface OwnershipOptions {
  readonly clock: Clock;
  readonly events: PodEvents;
  readonly logger: Logger;
}

const setGid = 0o2000;
const firstReportMs = 30_000;
const nextReportMs = 60_000;
/** How many files of a directory are changed in parallel. A volume that hangs blocks as many threads. */
const concurrency = 4;
const pathOnly = 0o10000000 | constants.O_NOFOLLOW; // O_PATH: does not open the file itself

/** The permissions that the group needs: directories also need x and setgid. */
export function groupMode(isDirectory: boolean, readOnly: boolean): number {
  return (readOnly ? 0o440 : 0o660) | (isDirectory ? setGid | 0o110 : 0);
}

/** True if the root of the volume already has the group and its permissions: then the files below it are not checked. */
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
  const walk: Walk = { fsGroup, readOnly, signal, files: 0, logger: o.logger };
  const stop = reportWhileSlow(request, walk, o);
  try {
    // The root last: an interrupted walk must not count as complete.
    const root = await open(dir, constants.O_RDONLY | constants.O_DIRECTORY);
    try {
      await changeDir(root, walk);
    } finally {
      await root.close();
    }
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

async function changeDir(dir: FileHandle, walk: Walk): Promise<void> {
  const fdPath = Buffer.from(`/proc/self/fd/${dir.fd}`);
  for await (const names of namesIn(fdPath, concurrency)) {
    if (walk.signal.aborted) throw abortError(walk.signal.reason);
    const dirs = await Promise.all(names.map((name) => changeEntry(rawJoin(fdPath, name), walk)));
    // Sequentially: a deep tree must not use up all file descriptors.
    for (const path of dirs) if (path) await enter(path, walk);
  }
  await change(fdPath, await dir.stat(), walk);
}

/** Changes an entry that is not a directory; returns the path of a directory, to be entered. */
async function changeEntry(path: RawPath, walk: Walk): Promise<RawPath | undefined> {
  const entry = await open(path, pathOnly).catch(unlessGone);
  if (!entry) return undefined;
  try {
    const found = await entry.stat();
    if (found.isDirectory()) return path;
    if (found.isSymbolicLink()) await changeGroup(path, walk);
    else await change(`/proc/self/fd/${entry.fd}`, found, walk);
    return undefined;
  } finally {
    await entry.close();
  }
}

async function enter(path: RawPath, walk: Walk): Promise<void> {
  const flags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
  const dir = await open(path, flags).catch(unlessGone);
  if (!dir) return;
  try {
    await changeDir(dir, walk);
  } finally {
    await dir.close();
  }
}

function unlessGone(error: unknown): undefined {
  // ELOOP, ENOTDIR: it was replaced, and must not be entered.
  if (["ENOENT", "ELOOP", "ENOTDIR"].includes(errnoOf(error) ?? "")) return undefined;
  throw error;
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
