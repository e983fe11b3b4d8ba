import { execFile as execFileBack } from "node:child_process";
import { truncateSync } from "node:fs";
import { open } from "node:fs/promises";
import { promisify } from "node:util";

const execFile = promisify(execFileBack);

/** A disk for a test: a file behind a loop device. */
export interface LoopDevice {
  readonly path: string;
  readonly file: string;
  detach(): Promise<void>;
}

/** Rejects if the machine has no loop devices. */
export async function loopDevice(file: string, bytes: number): Promise<LoopDevice> {
  await (await open(file, "w")).close();
  truncateSync(file, bytes);
  const { stdout } = await execFile("losetup", ["--find", "--show", file]);
  const path = stdout.trim();
  return { path, file, detach: async () => void (await execFile("losetup", ["--detach", path])) };
}
