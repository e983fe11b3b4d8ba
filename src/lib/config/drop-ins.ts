import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { isObject } from "../base/json-value.ts";

/**
 * The *.conf files below a folder in the order in which they apply: by name, a folder's content at the place of the
 * folder's own name. Links to folders are not followed.
 */
export async function listDropIns(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  entries.sort((a, b) => Buffer.compare(Buffer.from(a.name), Buffer.from(b.name)));
  const files: string[] = [];
  for (const entry of entries) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) files.push(...(await listDropIns(path)));
    else if (entry.name.endsWith(".conf")) files.push(path);
  }
  return files;
}

/** JSON merge patch: objects and maps merge key by key, null takes a key away, lists and all else are replaced. */
export function mergePatch(base: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const result = new Map(Object.entries(isObject(base) ? base : {}));
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) result.delete(name);
    else result.set(name, mergePatch(result.get(name), value));
  }
  return Object.fromEntries(result);
}
