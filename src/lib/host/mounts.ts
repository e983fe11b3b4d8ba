import { realpath } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { errnoOf, KubeletError } from "../base/errors.ts";
import { linux } from "../base/linux.ts";
import { libc } from "./libc.ts";
import { kernelOptions } from "./mount-options.ts";
import { type MountPoint, readMountAt, readMounts } from "./mount-table.ts";
import { isSELinuxEnabled } from "./selinux.ts";

export interface TmpfsOptions {
  /** Bytes; default: the kernel's (half of the memory). */
  readonly size?: bigint;
  /** Never swapped, where the kernel supports it. */
  readonly noSwap?: boolean;
  readonly mode?: number;
}

/** Mount operations for volumes. No call starts a process. */
export interface Mounts {
  mountTmpfs(dir: string, options?: TmpfsOptions): Promise<void>;
  mount(source: string, dir: string, fsType: string, options?: readonly string[]): Promise<void>;
  /** Bind-mounts the directory or file `source` at `target`, which must exist. */
  bind(source: string, target: string, options?: BindOptions): Promise<void>;
  /** A path where nothing is mounted is not an error. */
  unmount(dir: string): Promise<void>;
  isMountPoint(dir: string): Promise<boolean>;
  /** The mount at this path, if any; read from the mount table, so that an unresponsive server cannot block it. */
  at(dir: string): Promise<MountPoint | undefined>;
  list(): MountPoint[];
}

export interface BindOptions {
  readonly readOnly?: boolean;
  /** Recursive. */
  readonly recursive?: boolean;
  /** Other options, as mount(8) writes them. */
  readonly options?: readonly string[];
}

/** How many stacked mounts are unmounted at most. */
const maxStackedMounts = 64;

export const hostMounts: Mounts = {
  async mountTmpfs(dir, { size, noSwap, mode } = {}) {
    const options = [
      ...(size !== undefined && size > 0n ? [`size=${size}`] : []),
      ...(mode !== undefined ? [`mode=${mode.toString(8)}`] : []),
    ];
    const { mount } = await libc();
    const call = { source: "tmpfs", target: dir, fsType: "tmpfs", flags: 0 };
    if (noSwap) {
      try {
        return await mount({ ...call, data: [...options, "noswap"].join(",") });
      } catch (error) {
        if (errnoOf(error) !== "EINVAL") throw error; // older kernels and user namespaces do not support the option
      }
    }
    await mount({ ...call, data: options.join(",") });
  },

  async mount(source, target, fsType, options = []) {
    await (await libc()).mount({ source, target, fsType, ...kernelOptions(options, isSELinuxEnabled()) });
  },

  async bind(source, target, { readOnly = false, recursive = false, options = [] } = {}) {
    const { mount } = await libc();
    const bind = linux.MS_BIND | (recursive ? linux.MS_REC : 0);
    await mount({ source, target, fsType: "", flags: bind, data: "" });
    const { flags } = kernelOptions(readOnly ? [...options, "ro"] : options, isSELinuxEnabled());
    if (flags === 0) return;
    try {
      // The kernel ignores all other flags of the first call.
      await mount({ source, target, fsType: "", flags: linux.MS_REMOUNT | linux.MS_BIND | flags, data: "" });
    } catch (error) {
      await (await libc()).unmount(target, linux.UMOUNT_NOFOLLOW | linux.MNT_DETACH);
      throw error;
    }
  },

  async unmount(dir) {
    const { unmount } = await libc();
    for (let i = 0; i < maxStackedMounts; i++) {
      if (!(await hostMounts.isMountPoint(dir))) return;
      await unmount(dir, linux.UMOUNT_NOFOLLOW).catch((error) => {
        // EINVAL: it was unmounted in the meantime.
        if (errnoOf(error) !== "EINVAL" && errnoOf(error) !== "ENOENT") throw error;
      });
    }
    throw new KubeletError("EBUSY", `unmount ${dir}: something is still mounted there`);
  },

  async isMountPoint(dir) {
    return (await hostMounts.at(dir)) !== undefined;
  },

  async at(dir) {
    const path = await realPathOf(dir);
    return path === undefined ? undefined : readMountAt(path);
  },

  list: readMounts,
};

/** The path as in the mount table. The last component is not resolved: its filesystem may hang. */
async function realPathOf(dir: string): Promise<string | undefined> {
  try {
    return join(await realpath(dirname(dir)), basename(dir));
  } catch (error) {
    if (errnoOf(error) === "ENOENT" || errnoOf(error) === "ENOTDIR") return undefined;
    throw error;
  }
}

/**
 * Makes the propagation of this directory shared: mounts of a container with bidirectional
 * propagation would otherwise remain in it. If that needs a bind mount of the directory on itself,
 * the returned function removes the bind mount, unless something is mounted in it.
 */
export async function makeMountsShared(dir: string): Promise<() => Promise<void>> {
  const real = await realpath(dir);
  const covers = (m: MountPoint) => m.path === "/" || real === m.path || real.startsWith(`${m.path}/`);
  const longest = readMounts()
    .filter(covers)
    .reduce<MountPoint | undefined>(
      (best, m) => (best && best.path.length > m.path.length ? best : m),
      undefined,
    );
  if (longest?.shared) return async () => {};
  const { mount } = await libc();
  const isOurs = longest?.path !== real;
  if (isOurs)
    await mount({ source: real, target: real, fsType: "", flags: linux.MS_BIND | linux.MS_REC, data: "" });
  await mount({ source: "", target: real, fsType: "", flags: linux.MS_SHARED | linux.MS_REC, data: "" });
  return async () => {
    if (isOurs) await hostMounts.unmount(real).catch(() => {});
  };
}
