import { rmSync } from "node:fs";
import { mountsBelow, readMounts } from "../../src/lib/host/mount-table.ts";
import { systemCalls } from "../../src/lib/host/system-calls.ts";

/** Removes a folder in which an agent has worked: what it left mounted for its pods goes first. */
export async function removeFolder(dir: string): Promise<void> {
  const calls = await systemCalls();
  for (const path of mountsBelow(readMounts(), [dir])) calls.unmount(path, true);
  rmSync(dir, { recursive: true, force: true });
}
