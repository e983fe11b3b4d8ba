import { statfs } from "node:fs/promises";

/** How many bytes the filesystem with this path can hold, used or not. */
export async function filesystemBytes(path: string): Promise<bigint> {
  const { blocks, bsize } = await statfs(path, { bigint: true });
  return blocks * bsize;
}
