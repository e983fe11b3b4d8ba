import { constants } from "node:fs";
import { lstat, open, readlink, realpath } from "node:fs/promises";
import { join } from "node:path";
import { errnoOf, KubeletError } from "../../../lib/base/errors.ts";

const mostLinks = 255;
/** Much more than variables ever are, and little enough to be read at once. */
const largestFile = 1 << 20;

/**
 * Where a path in a volume leads, with the volume as root: a link out of it leads back into it, as in a chroot. A
 * container may have written the links, so none is followed as the kernel would follow it here.
 */
export async function pathInVolume(volume: string, path: string): Promise<string> {
  const waiting = path.split("/").reverse();
  let done: string[] = [];
  let links = 0;
  for (let part = waiting.pop(); part !== undefined; part = waiting.pop()) {
    if (part === "" || part === ".") continue;
    if (part === "..") {
      done.pop();
      continue;
    }
    const target = await linkTarget(join(volume, ...done, part));
    if (target === undefined) {
      done.push(part);
      continue;
    }
    if (++links > mostLinks) throw new KubeletError("EnvFile", `${path}: too many links`);
    if (target.startsWith("/")) done = [];
    waiting.push(...target.split("/").reverse());
  }
  return join(volume, ...done);
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
 * The text of a regular file in the volume, by a path that `pathInVolume` gave. Anything else that a container may have
 * put there would block or never end.
 */
export async function readEnvFile(volume: string, path: string): Promise<string> {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  const file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    // A folder on the way may have become a link since.
    const opened = await readlink(`/proc/self/fd/${file.fd}`);
    if (!opened.startsWith(`${await realpath(volume)}/`))
      throw new KubeletError("EnvFile", `${path} is not in the volume`);
    const stat = await file.stat();
    if (!stat.isFile()) throw new KubeletError("EnvFile", `${path} is not a regular file`);
    if (stat.size > largestFile)
      throw new KubeletError("EnvFile", `${path} has ${stat.size} bytes, more than ${largestFile}`);
    const buffer = Buffer.alloc(largestFile + 1);
    let length = 0;
    for (;;) {
      const { bytesRead } = await file.read(buffer, length, buffer.length - length);
      if (bytesRead === 0) break;
      length += bytesRead;
      if (length > largestFile) throw new KubeletError("EnvFile", `${path} grows while it is read`);
    }
    return buffer.toString("utf8", 0, length);
  } finally {
    await file.close();
  }
}
