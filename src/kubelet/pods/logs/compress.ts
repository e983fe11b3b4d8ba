import { open, rename, rm } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import type { OpenDir } from "../../../lib/host/open-dir.ts";
import { openRegularFile } from "../../../lib/host/regular-file.ts";
import { compressedSuffix, temporarySuffix } from "./rotation-plan.ts";

/** Replaces a file with its compressed form. At any time one of the two is complete. Neither is opened if it is a link. */
export async function compressFile(dir: OpenDir, name: string, signal?: AbortSignal): Promise<void> {
  const path = dir.at(Buffer.from(name));
  const temporary = dir.at(Buffer.from(`${name}${temporarySuffix}`));
  try {
    await using original = await openRegularFile(path, { follow: false });
    const { mode } = await original.stat();
    await rm(temporary, { force: true });
    await using compressed = await open(temporary, "wx", mode & 0o7777);
    await pipeline(original.createReadStream(), createGzip(), compressed.createWriteStream(), { signal });
    await rename(temporary, dir.at(Buffer.from(`${name}${compressedSuffix}`)));
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  await rm(path);
}
