import { readdirSync } from "node:fs";
import { cleanUpNode } from "./cleanup.ts";
import { defaultBaseDir, nodeFiles } from "./node-files.ts";
import { ownerOf, releaseNode } from "./node-lock.ts";

/**
 * Removes nodes that a killed process left. `pattern` matches the names of such nodes and has the process in its first
 * group: a node goes only if neither that process nor an owner of the node is alive.
 */
export async function removeAbandonedNodes(pattern: RegExp): Promise<void> {
  for (const name of nodeNames()) {
    const pid = Number(pattern.exec(name)?.[1]);
    if (!pid || pid === process.pid || isAlive(pid)) continue;
    const files = nodeFiles(name);
    if (ownerOf(files) !== undefined) continue;
    await cleanUpNode(files, { keep: "nothing" });
    releaseNode(files);
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
