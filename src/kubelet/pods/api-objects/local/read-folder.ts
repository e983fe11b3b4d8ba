import { constants } from "node:fs";
import { open, readdir } from "node:fs/promises";
import { join } from "node:path";
import { errnoOf, messageOf } from "../../../../lib/base/errors.ts";
import { isOpenForWriting } from "../../../../lib/host/open-for-writing.ts";

export type FoundFile =
  | { readonly name: string; readonly text: string }
  /** Somebody still writes it. */
  | { readonly name: string; readonly busy: true }
  | { readonly name: string; readonly problem: string };

const maxFileBytes = 4 * 1024 * 1024;
const utf8 = new TextDecoder("utf-8", { fatal: true });

/**
 * The files of the folder that may hold objects, by name. Fails if there is no such folder. A file that somebody has open for
 * writing is left for later, unless `isDue` says that it was long enough.
 */
export async function readFolder(dir: string, isDue: (name: string) => boolean): Promise<FoundFile[]> {
  const names = await readdir(dir);
  const files: FoundFile[] = [];
  for (const name of names.sort((a, b) => (a < b ? -1 : 1))) {
    if (name.startsWith(".") || !/\.(?:ya?ml|json)$/i.test(name)) continue;
    const found = await readObjectFile(dir, name, isDue);
    if (found) files.push(found);
  }
  return files;
}

async function readObjectFile(
  dir: string,
  name: string,
  isDue: (name: string) => boolean,
): Promise<FoundFile | undefined> {
  // Without waiting for whoever might write to it, if it is a pipe.
  const file = await open(join(dir, name), constants.O_RDONLY | constants.O_NONBLOCK).catch((error) => {
    if (errnoOf(error) === "ENOENT") return undefined;
    return { problem: messageOf(error) };
  });
  if (!file) return undefined;
  if ("problem" in file) return { name, ...file };
  try {
    const before = await file.stat({ bigint: true });
    if (!before.isFile()) return { name, problem: "is not a regular file" };
    if (before.size > BigInt(maxFileBytes)) return { name, problem: `has more than ${maxFileBytes} bytes` };
    if (isOpenForWriting(file.fd) && !isDue(name)) return { name, busy: true };
    const bytes = await file.readFile();
    const after = await file.stat({ bigint: true });
    if (after.mtimeNs !== before.mtimeNs || after.size !== before.size) return { name, busy: true };
    return { name, text: utf8.decode(bytes) };
  } catch (error) {
    return { name, problem: error instanceof TypeError ? "is not UTF-8" : messageOf(error) };
  } finally {
    await file.close();
  }
}
