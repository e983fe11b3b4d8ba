import { constants } from "node:fs";
import { open, readlink } from "node:fs/promises";
import { join, relative } from "node:path";
import { KubeletError } from "../../../lib/base/errors.ts";
import { type OpenedFile, openInRoot, openRoot } from "../../../lib/host/beneath.ts";
import { readAt } from "../../../lib/host/regular-file.ts";

/** More than variables ever need, and small enough to be read in one call. */
const maxFileBytes = 1 << 20;

export interface EnvFile {
  /** With the symlinks in the volume resolved. */
  readonly path: string;
  readonly text: string;
}

/**
 * A file of the volume, with the volume as root: the kernel resolves symlinks, and none leads out of it, even if a container creates it in the
 * meantime. Anything but a regular file is rejected before it is opened: a pipe has another end, a device may do something.
 */
export async function readEnvFile(volume: string, path: string): Promise<EnvFile> {
  const root = await openRoot(volume);
  try {
    const file = await openInRoot(root, path);
    try {
      if (!file.isFile) throw new KubeletError("EnvFile", `${path} is not a regular file`);
      const resolved = relative(await readlink(root.path), await readlink(file.path));
      return { path: join(volume, resolved), text: await textOf(file, path) };
    } finally {
      file.close();
    }
  } finally {
    root.close();
  }
}

async function textOf(file: OpenedFile, path: string): Promise<string> {
  const { O_RDONLY, O_NONBLOCK } = constants;
  const handle = await open(file.path, O_RDONLY | O_NONBLOCK);
  try {
    const { size } = await handle.stat();
    if (size > maxFileBytes)
      throw new KubeletError("EnvFile", `${path} has ${size} bytes, more than ${maxFileBytes}`);
    // One more byte than allowed: a file that grows during the read is detected.
    const buffer = Buffer.alloc(maxFileBytes + 1);
    const length = await readAt(handle, buffer, 0);
    if (length > maxFileBytes) throw new KubeletError("EnvFile", `${path} is growing while being read`);
    return buffer.toString("utf8", 0, length);
  } finally {
    await handle.close();
  }
}
