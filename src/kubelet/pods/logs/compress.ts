import { createReadStream, createWriteStream } from "node:fs";
import { rename, rm, stat } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { compressedSuffix, temporarySuffix } from "./rotation-plan.ts";

/** Replaces a file with its compressed form. At any time one of the two is complete. */
export async function compressFile(path: string, signal?: AbortSignal): Promise<void> {
  const temporary = `${path}${temporarySuffix}`;
  try {
    const { mode } = await stat(path);
    await pipeline(
      createReadStream(path),
      createGzip(),
      createWriteStream(temporary, { mode: mode & 0o7777 }),
      { signal },
    );
    await rename(temporary, `${path}${compressedSuffix}`);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  await rm(path);
}
