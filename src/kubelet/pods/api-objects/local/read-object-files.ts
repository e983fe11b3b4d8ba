import { constants } from "node:fs";
import { open, readdir } from "node:fs/promises";
import { join } from "node:path";
import { errnoOf, messageOf } from "../../../../lib/base/errors.ts";
import { isOpenForWriting } from "../../../../lib/host/open-for-writing.ts";

export type ObjectFile =
  | { readonly name: string; readonly text: string }
  /** A process has it open for writing. */
  | { readonly name: string; readonly busy: true }
  | { readonly name: string; readonly problem: string };

const maxFileBytes = 4 * 1024 * 1024;
const utf8 = new TextDecoder("utf-8", { fatal: true });

/**
 * The YAML and JSON files of the directory, by name. Fails if the directory does not exist. A file that a process has open for
 * writing is `busy`, unless `isOverdue` returns true.
 */
export async function readObjectFiles(
  dir: string,
  isOverdue: (name: string) => boolean,
): Promise<ObjectFile[]> {
  const names = await readdir(dir);
  const files: ObjectFile[] = [];
  for (const name of names.sort((a, b) => (a < b ? -1 : 1))) {
    if (name.startsWith(".") || !/\.(?:ya?ml|json)$/i.test(name)) continue;
    const found = await readObjectFile(dir, name, isOverdue);
    if (found) files.push(found);
  }
  return files;
}

async function readObjectFile(
  dir: string,
  name: string,
  isOverdue: (name: string) => boolean,
): Promise<ObjectFile | undefined> {
  // Opening a pipe must not block until it has a writer.
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
    if (isOpenForWriting(file.fd) && !isOverdue(name)) return { name, busy: true };
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
