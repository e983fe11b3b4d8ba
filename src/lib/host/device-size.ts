import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { KubeletError } from "../base/errors.ts";

const sectorBytes = 512; // sectors of /sys, regardless of the device's sector size

/**
 * The size of a block device in bytes; links to it are followed. It is not opened, so that an unresponsive one blocks
 * nothing.
 */
export async function deviceBytes(path: string, sys = "/sys"): Promise<number> {
  const found = await stat(path);
  if (!found.isBlockDevice()) throw new KubeletError("Device", `${path} is not a block device`);
  const { major, minor } = deviceNumbers(BigInt(found.rdev));
  const sectors = await readFile(join(sys, "dev/block", `${major}:${minor}`, "size"), "utf8");
  return Number(sectors) * sectorBytes;
}

/** Decodes a dev_t: major and minor are each split into two ranges of bits. */
export function deviceNumbers(device: bigint): { major: bigint; minor: bigint } {
  return {
    major: ((device >> 8n) & 0xfffn) | ((device >> 32n) & 0xfffff000n),
    minor: (device & 0xffn) | ((device >> 12n) & 0xffffff00n),
  };
}
