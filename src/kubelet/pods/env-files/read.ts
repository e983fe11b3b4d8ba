import { constants } from "node:fs";
import { lstat, open, readlink, realpath } from "node:fs/promises";
import { join } from "node:path";
import { errnoOf, KubeletError } from "../../../lib/base/errors.ts";

const maxSymlinks = 255;
/** More than variables ever need, and small enough to be read in one call. */
const maxFileBytes = 1 << 20;

/**
 * Resolves a path in a volume with the volume as root, as in a chroot: symlinks never lead out of it. A container may have
 * created the symlinks, so the kernel must not follow them here.
 */
export async function pathInVolume(volume: string, path: string): Promise<string> {
  const pending = path.split("/").reverse();
  let resolved: string[] = [];
  let links = 0;
  for (let part = pending.pop(); part !== undefined; part = pending.pop()) {
    if (part === "" || part === ".") continue;
    if (part === "..") {
      resolved.pop();
      continue;
    }
    const target = await linkTarget(join(volume, ...resolved, part));
    if (target === undefined) {
      resolved.push(part);
      continue;
    }
    if (++links > maxSymlinks) throw new KubeletError("EnvFile", `${path}: too many links`);
    if (target.startsWith("/")) resolved = [];
    pending.push(...target.split("/").reverse());
  }
  return join(volume, ...resolved);
}

async function linkTarget(path: string): Promise<string | undefined> {
  try {
    return (await lstat(path)).isSymbolicLink() ? await readlink(path) : undefined;
  } catch (error) {
    if (errnoOf(error) === "ENOENT" || errnoOf(error) === "ENOTDIR") return undefined;
    throw error;
  }
}

/**
 * The text of a regular file in the volume, by a path of `pathInVolume`. Reading other files that a container may have
 * created could block or never end.
 */
export async function readEnvFile(volume: string, path: string): Promise<string> {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  const file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    // A parent directory may have become a symlink since.
    const opened = await readlink(`/proc/self/fd/${file.fd}`);
    if (!opened.startsWith(`${await realpath(volume)}/`))
      throw new KubeletError("EnvFile", `${path} is not in the volume`);
    const stat = await file.stat();
    if (!stat.isFile()) throw new KubeletError("EnvFile", `${path} is not a regular file`);
    if (stat.size > maxFileBytes)
      throw new KubeletError("EnvFile", `${path} has ${stat.size} bytes, more than ${maxFileBytes}`);
    const buffer = Buffer.alloc(maxFileBytes + 1);
    let length = 0;
    for (;;) {
      const { bytesRead } = await file.read(buffer, length, buffer.length - length);
      if (bytesRead === 0) break;
      length += bytesRead;
      if (length > maxFileBytes) throw new KubeletError("EnvFile", `${path} is growing while being read`);
    }
    return buffer.toString("utf8", 0, length);
  } finally {
    await file.close();
  }
}
