import { rmdirSync } from "node:fs";
import { dirname } from "node:path";
import { KubeletError } from "../lib/base/errors.ts";
import { lockFile } from "../lib/host/file-lock.ts";
import type { NodeFiles } from "./node-files.ts";

export interface NodeLock {
  release(): void;
}

/** Locks the node for this process, until it releases the lock or exits. */
export async function lockNode(files: NodeFiles): Promise<NodeLock> {
  const lock = await lockFile(files.lock, { dirMode: 0o711 });
  if (lock.kind === "held")
    throw new KubeletError(
      "NodeInUse",
      `node "${files.name}" already runs (process ${lock.holder ?? "unknown"})`,
    );
  return {
    release() {
      lock.release();
      try {
        rmdirSync(dirname(files.lock));
      } catch {
        // it has other nodes
      }
    },
  };
}
