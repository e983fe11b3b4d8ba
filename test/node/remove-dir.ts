import { rmSync } from "node:fs";
import { mountsBelow, readMounts } from "../../src/lib/host/mount-table.ts";
import { systemCalls } from "../../src/lib/host/system-calls.ts";

/** Removes a root directory of an agent, after unmounting its pods' volumes. */
export async function removeDir(dir: string): Promise<void> {
  const calls = await systemCalls();
  for (const path of mountsBelow(readMounts(), [dir])) calls.unmount(path, true);
  rmSync(dir, { recursive: true, force: true });
}
