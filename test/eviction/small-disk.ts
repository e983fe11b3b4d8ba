import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface SmallDisk {
  readonly dir: string;
  remove(): void;
}

const prefix = "small-disk-";

/** A mounted filesystem of this size, in a file: filling it does no harm to the machine. */
export function smallDisk(o: { readonly bytes: number; readonly inodes: number }): SmallDisk {
  removeAbandoned();
  const parent = mkdtempSync(join(tmpdir(), `${prefix}${process.pid}-`));
  const [file, dir] = [join(parent, "disk.img"), join(parent, "disk")];
  writeFileSync(file, "");
  truncateSync(file, o.bytes);
  mkdirSync(dir);
  // Without blocks that are reserved for root: the agent is root.
  execFileSync("mkfs.ext4", ["-q", "-m", "0", "-N", String(o.inodes), "-O", "^has_journal", file]);
  execFileSync("mount", ["-o", "loop", file, dir]);
  return { dir, remove: () => removeDisk(parent) };
}

/** Removes the disks of test processes that were killed. */
function removeAbandoned(): void {
  for (const name of readdirSync(tmpdir())) {
    const pid = Number(new RegExp(`^${prefix}(\\d+)-`).exec(name)?.[1]);
    if (!pid || pid === process.pid || isAlive(pid)) continue;
    removeDisk(join(tmpdir(), name));
  }
}

function removeDisk(parent: string): void {
  try {
    execFileSync("umount", ["--recursive", "--lazy", join(parent, "disk")], { stdio: "ignore" });
  } catch {
    // It is not mounted.
  }
  rmSync(parent, { recursive: true, force: true });
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
