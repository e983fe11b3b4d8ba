import { linkSync, mkdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { errnoOf, KubeletError } from "../base/errors.ts";
import type { NodeFiles } from "./node-files.ts";
import { readProcess } from "./processes.ts";

/**
 * Makes this process the owner of the node. A file names the owner by pid and start time, so one that was killed is
 * noticed, even if its pid was given to another process since.
 */
export function takeNode(files: NodeFiles): void {
  mkdirSync(dirname(files.lock), { recursive: true, mode: 0o711 });
  const mine = `${files.lock}.${process.pid}`;
  writeFileSync(mine, identity(process.pid));
  try {
    claim(files, mine);
  } finally {
    rmSync(mine, { force: true });
  }
}

/** A link appears with its content, all at once: nobody ever reads half an owner. */
function claim(files: NodeFiles, mine: string): void {
  for (let attempt = 0; attempt < 3; attempt++) {
    try {
      linkSync(mine, files.lock);
      return;
    } catch (cause) {
      if (errnoOf(cause) !== "EEXIST") throw cause;
      const owner = ownerOf(files);
      if (owner !== undefined) {
        throw new KubeletError("NodeInUse", `node "${files.name}" already runs (process ${owner})`, {
          cause,
        });
      }
      rmSync(files.lock, { force: true });
    }
  }
  throw new KubeletError("NodeInUse", `node "${files.name}" is being started by another process`);
}

export function releaseNode(files: NodeFiles): void {
  rmSync(files.lock, { force: true });
  try {
    rmdirSync(dirname(files.lock));
  } catch {
    // other nodes live there
  }
}

/** The pid of the live process that owns the node, or undefined. */
export function ownerOf(files: NodeFiles): number | undefined {
  try {
    const text = readFileSync(files.lock, "utf8");
    const pid = Number(text.split(" ")[0]);
    return Number.isInteger(pid) && text === identity(pid) ? pid : undefined;
  } catch {
    return undefined;
  }
}

function identity(pid: number): string {
  const found = readProcess(pid);
  return found && !found.zombie ? `${pid} ${found.startTime}` : `${pid} gone`;
}
