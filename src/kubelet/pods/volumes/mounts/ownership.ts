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
/** How many files of a folder are changed together. A volume that stops answering keeps as many threads. */
const together = 4;
const pathOnly = 0o10000000 | constants.O_NOFOLLOW; // O_PATH: the file itself is not opened, whatever it is

/** The bits that the group must have: folders also need x, and hand their group on. */
export function groupMode(isDirectory: boolean, readOnly: boolean): number {
  return (readOnly ? 0o440 : 0o660) | (isDirectory ? setGid | 0o110 : 0);
}

/** True if the root of the volume is as it should be: then all below it is taken to be so too. */
export function rootMatches(
  root: { gid: number; mode: number; isDirectory(): boolean },
  fsGroup: number,
  readOnly: boolean,
): boolean {
  const needed = groupMode(true, readOnly);
  return root.isDirectory() && root.gid === fsGroup && (root.mode & needed) === needed;
}

/**
 * Gives the files of a volume to the pod's fsGroup. Files that cannot be changed are left as they are. Nothing is reached through a
 * name that a container could have changed meanwhile: each folder is opened from the one above it, and links are not followed.
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
    // The root last: an interrupted walk is not taken for a finished one.
    const root = await open(dir, constants.O_RDONLY | constants.O_DIRECTORY);
    try {
      await changeFolder(root, walk);
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

async function changeFolder(folder: FileHandle, walk: Walk): Promise<void> {
  const here = Buffer.from(`/proc/self/fd/${folder.fd}`);
  for await (const names of namesIn(here, together)) {
    if (walk.signal.aborted) throw abortError(walk.signal.reason);
    const folders = await Promise.all(names.map((name) => changeEntry(rawJoin(here, name), walk)));
    // One after the other: a deep tree must not take all file descriptors.
    for (const path of folders) if (path) await enter(path, walk);
  }
  await change(here, await folder.stat(), walk);
}

/** Changes what is no folder; the path of a folder is returned, to be entered. */
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
  const folder = await open(path, flags).catch(unlessGone);
  if (!folder) return;
  try {
    await changeFolder(folder, walk);
  } finally {
    await folder.close();
  }
}

function unlessGone(error: unknown): undefined {
  // ELOOP, ENOTDIR: replaced by something else, which is then not ours to enter.
  if (["ENOENT", "ELOOP", "ENOTDIR"].includes(errnoOf(error) ?? "")) return undefined;
  throw error;
}

/** `path` leads to an open file: no name is involved. */
async function change(
  path: string | RawPath,
  found: { mode: number; gid: number; isDirectory(): boolean },
  walk: Walk,
): Promise<void> {
  walk.files++;
  const mode = (found.mode | groupMode(found.isDirectory(), walk.readOnly)) & 0o7777;
  try {
    if (found.gid !== walk.fsGroup) await chown(path, keepOwner, walk.fsGroup);
    // After a change of owner the kernel has taken setuid and setgid away.
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

/** The owner stays. */
const keepOwner = -1;

/** Tells users why a pod takes so long to start; the returned function ends that. */
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
