import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { isObject } from "../base/json-value.ts";

/**
 * The *.conf files below a directory in the order in which they apply: by name, a subdirectory's files at the position of
 * its name. Symlinks to directories are not followed.
 */
export async function listDropIns(dir: string): Promise<string[]> {
  const entries = await readdir(dir, { withFileTypes: true });
  entries.sort((a, b) => Buffer.compare(Buffer.from(a.name), Buffer.from(b.name)));
  const files: string[] = [];
  for (const entry of entries) {
    const path = join(dir, entry.name);
    if (entry.isDirectory()) files.push(...(await listDropIns(path)));
    else if (entry.name.endsWith(".conf")) files.push(path);
  }
  return files;
}

/** JSON merge patch: objects and maps merge key by key, null removes a key, everything else is replaced. */
export function mergePatch(base: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const result = new Map(Object.entries(isObject(base) ? base : {}));
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) result.delete(name);
    else result.set(name, mergePatch(result.get(name), value));
  }
  return Object.fromEntries(result);
}
