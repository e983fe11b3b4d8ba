import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { errnoOf } from "../../lib/base/errors.ts";

export interface Scan {
  /** Path to identity: another identity means that the file was recreated. */
  readonly sockets: ReadonlyMap<string, string>;
  readonly dirs: readonly string[];
}

/** All sockets at any depth; names that start with a dot are ignored. */
export async function scanSockets(root: string): Promise<Scan> {
  const sockets = new Map<string, string>();
  const dirs: string[] = [];
  const visit = async (dir: string): Promise<void> => {
    const entries = await readdir(dir, { withFileTypes: true }).catch(gone);
    if (!entries) return;
    dirs.push(dir);
    for (const entry of entries) {
      if (entry.name.startsWith(".")) continue;
      const path = join(dir, entry.name);
      if (entry.isDirectory()) await visit(path);
      else if (entry.isSocket() || entry.isSymbolicLink()) {
        const file = await stat(path, { bigint: true }).catch(gone);
        // The stamp lacks the ctime, because drivers set the mode of their socket after they have created it.
        if (file?.isSocket())
          sockets.set(path, `${file.dev}:${file.ino}:${file.birthtimeNs || file.ctimeNs}`);
      }
    }
  };
  await visit(root);
  return { sockets, dirs };
}

/** Files may be removed during the scan; a link may be dangling. */
function gone(error: unknown): undefined {
  const code = errnoOf(error);
  if (code === "ENOENT" || code === "ENOTDIR" || code === "ELOOP") return undefined;
  throw error;
}
