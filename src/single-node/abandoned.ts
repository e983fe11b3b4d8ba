import { readdirSync } from "node:fs";
import { errnoOf } from "../lib/base/errors.ts";
import { cleanUpNode } from "./cleanup.ts";
import { defaultBaseDir, nodeFiles } from "./node-files.ts";
import { lockNode } from "./node-lock.ts";

/**
 * Removes nodes of killed processes. `pattern` matches the names of such nodes and has the pid in its first group: a node is
 * removed only if neither that process nor an owner of the node is alive.
 */
export async function removeAbandonedNodes(pattern: RegExp): Promise<void> {
  for (const name of nodeNames()) {
    const pid = Number(pattern.exec(name)?.[1]);
    if (!pid || pid === process.pid || isAlive(pid)) continue;
    const files = nodeFiles(name);
    const lock = await lockNode(files).catch((error) => {
      if (errnoOf(error) === "NodeInUse") return undefined;
      throw error;
    });
    if (!lock) continue;
    await cleanUpNode(files, { keep: "nothing" });
    lock.release();
  }
}

function nodeNames(): string[] {
  try {
    return readdirSync(defaultBaseDir);
  } catch {
    return [];
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
