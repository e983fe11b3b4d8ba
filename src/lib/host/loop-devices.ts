import { closeSync, openSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { errnoOf, KubeletError } from "../base/errors.ts";
import { linux } from "../base/linux.ts";
import { libc } from "./libc.ts";

const maxTries = 16;

/** The loop device of this file or device, if there is one. */
export function loopDeviceOf(path: string): string | undefined {
  const real = realpathSync(path);
  for (const name of readdirSync("/sys/block").filter((entry) => entry.startsWith("loop"))) {
    const file = backingFileOf(name);
    if (file === path || file === real) return `/dev/${name}`;
  }
  return undefined;
}

function backingFileOf(name: string): string | undefined {
  try {
    const text = readFileSync(`/sys/block/${name}/loop/backing_file`, "utf8").trim();
    return text.replace(/\s*\(deleted\)$/, "");
  } catch {
    return undefined; // not in use
  }
}

/** Creates the loop device of a file, or returns the existing one. A file with a loop device cannot be replaced. */
export async function attachLoopDevice(path: string): Promise<string> {
  const known = loopDeviceOf(path);
  if (known) return known;
  const { ioctl } = await libc();
  const control = openSync("/dev/loop-control", "r+");
  const file = openSync(path, "r+");
  try {
    for (let tries = 0; tries < maxTries; tries++) {
      const device = `/dev/loop${ioctl(control, linux.LOOP_CTL_GET_FREE, 0)}`;
      const loop = openSync(device, "r+");
      try {
        ioctl(loop, linux.LOOP_SET_FD, file);
        return device;
      } catch (error) {
        if (errnoOf(error) !== "EBUSY") throw error; // another process got it in between
      } finally {
        closeSync(loop);
      }
    }
    throw new KubeletError("EBUSY", `no free loop device for ${path}`);
  } finally {
    closeSync(file);
    closeSync(control);
  }
}

/** Detaches the loop device of this file, if there is one. */
export async function detachLoopDevice(path: string): Promise<void> {
  const device = loopDeviceOf(path);
  if (!device) return;
  const { ioctl } = await libc();
  const loop = openSync(device, "r");
  try {
    ioctl(loop, linux.LOOP_CLR_FD, 0);
  } catch (error) {
    if (errnoOf(error) !== "ENXIO") throw error;
  } finally {
    closeSync(loop);
  }
}
