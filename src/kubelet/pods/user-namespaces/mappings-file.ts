import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { errnoOf, KubeletError, messageOf } from "../../../lib/base/errors.ts";
import { replaceDurably } from "../../../lib/host/durable-file.ts";
import { makeDirs } from "../../../lib/host/make-dirs.ts";

const fileName = "userns";

interface IdMapping {
  hostId: number;
  containerId: number;
  length: number;
}

/** Host IDs from `first` on are 0 and up in the pod; the same for users and groups. */
export interface Mappings {
  readonly first: number;
  readonly length: number;
}

/** Undefined if the pod has no record. */
export async function readMappings(podDir: string): Promise<Mappings | undefined> {
  try {
    const text = await readFile(join(podDir, fileName), "utf8");
    return text === "" ? undefined : parseMappings(text);
  } catch (error) {
    if (errnoOf(error) === "ENOENT" || errnoOf(error) === "ENOTDIR") return undefined;
    throw error;
  }
}

export function parseMappings(text: string): Mappings {
  const invalid = (message: string, cause?: unknown) =>
    new KubeletError("UserNamespaces", message, { cause });
  let parsed: { uidMappings?: IdMapping[]; gidMappings?: IdMapping[] } | null;
  try {
    parsed = JSON.parse(text) as typeof parsed;
  } catch (error) {
    throw invalid(`invalid user namespace mappings file: ${messageOf(error)}`, error);
  }
  const [uids = [], gids = []] = [parsed?.uidMappings, parsed?.gidMappings];
  const [users, groups] = [uids[0], gids[0]];
  if (!users || uids.length !== 1)
    throw invalid("invalid user namespace configuration: no more than one mapping allowed.");
  if (!groups || gids.length !== 1 || !same(users, groups))
    throw invalid("invalid user namespace configuration: GID and UID mapping should be identical");
  if (users.containerId !== 0) throw invalid("invalid user namespace configuration: UID 0 must be mapped");
  if (!Number.isSafeInteger(users.hostId) || !Number.isSafeInteger(users.length))
    throw invalid("invalid user namespace configuration: IDs must be numbers");
  return { first: users.hostId, length: users.length };
}

function same(a: IdMapping, b: IdMapping): boolean {
  return a.hostId === b.hostId && a.containerId === b.containerId && a.length === b.length;
}

/**
 * Writes the IDs to disk before they are used: after a power failure the same IDs must not be assigned to another pod while files of
 * this one still exist.
 */
export async function writeMappings(podDir: string, { first, length }: Mappings): Promise<void> {
  const mappings: IdMapping[] = [{ hostId: first, containerId: 0, length }];
  await makeDirs(podDir, 0o750);
  const text = JSON.stringify({ uidMappings: mappings, gidMappings: mappings });
  await replaceDurably(join(podDir, fileName), text, 0o600, join(podDir, `.${fileName}.tmp`));
}

export async function removeMappings(podDir: string): Promise<void> {
  await rm(join(podDir, fileName), { force: true });
}
