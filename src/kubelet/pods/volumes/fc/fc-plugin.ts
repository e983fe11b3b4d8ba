import { readdir, rmdir } from "node:fs/promises";
import { basename, join } from "node:path";
import { type Clock, sleep } from "../../../../lib/base/clock.ts";
import { errnoOf, KubeletError, messageOf } from "../../../../lib/base/errors.ts";
import { listDir } from "../../../../lib/host/entries.ts";
import { makeDirs } from "../../../../lib/host/make-dirs.ts";
import { mountReferences } from "../../../../lib/host/mount-table.ts";
import type { Mounts } from "../../../../lib/host/mounts.ts";
import { globalMapOf } from "../tools/block-devices.ts";
import { type DiskMountOptions, diskMount, mountDisk } from "../tools/disk-mount.ts";
import { rejectWhileMounted } from "../tools/mount-references.ts";
import { mountedLabelAt } from "../tools/selinux-labels.ts";
import type { BlockVolumeMapper, DeviceMounter, VolumePlugin, VolumeSpec } from "../volume-plugin.ts";
import { attachDisk, attachedDevice, detachDevice, type FcDeviceOptions } from "./fc-devices.ts";
import {
  attachNameOf,
  diskDir,
  diskOf,
  fcPluginName,
  fcSourceOf,
  pluginDir,
  specFromDir,
  uniqueDiskName,
} from "./fc-disk.ts";

export interface FcOptions extends FcDeviceOptions, DiskMountOptions {
  readonly rootDir: string;
  readonly clock: Clock;
  readonly mounts: Pick<Mounts, "mount" | "bind" | "unmount" | "isMountPoint" | "at" | "list">;
}

/** A multipath device may be busy for a moment after it was unmounted. */
const detachAttempts = 13;
const detachIntervalMs = 10_000;

/** Disks of Fibre Channel targets. The fabric attaches them; the kernel finds them when it scans its hosts. */
export function fcPlugin(options: FcOptions): VolumePlugin {
  const { rootDir, mounts, clock, dirs } = options;
  /** The device of each attached disk, by its unique name. */
  const devices = new Map<string, string>();

  const attach = async (spec: VolumeSpec): Promise<string> => {
    const device = await attachDisk(options, diskOf(spec));
    devices.set(uniqueDiskName(spec), device);
    return device;
  };
  const detach = async (device: string, signal: AbortSignal): Promise<void> => {
    for (let attempt = 1; ; attempt++)
      try {
        return await detachDevice(options, device, signal);
      } catch (error) {
        signal.throwIfAborted();
        if (attempt < detachAttempts) await sleep(clock, detachIntervalMs, signal);
        else
          throw new KubeletError("Fc", `fc: failed to detach disk: ${device}: ${messageOf(error)}`, {
            cause: error,
          });
      }
  };
  const parse = async (dir: string, volumeName: string): Promise<VolumeSpec | undefined> => {
    const names = new Set(await listDir(join(dirs.linkDir, "by-id")));
    return specFromDir(dir, volumeName, (wwid) => names.has(`scsi-${wwid}`));
  };

  const blockDirs = async () => {
    const base = pluginDir(rootDir, "Block");
    return (await listDir(base)).map((name) => join(base, name));
  };

  const device: DeviceMounter = {
    attachName: attachNameOf,
    async waitForAttach(_pod, spec, _signal, verified) {
      await verified?.();
      await attach(spec);
    },
    deviceDir: (spec) => diskDir(rootDir, diskOf(spec), "Filesystem"),
    async mountDevice(_pod, spec, dir, _fsGroup, signal, label = "") {
      if (await mounts.isMountPoint(dir)) return;
      const disk = devices.get(uniqueDiskName(spec)) ?? (await attach(spec));
      await makeDirs(dir, 0o750);
      try {
        await mountDisk(
          options,
          { device: disk, dir, fsType: fcSourceOf(spec)?.fsType },
          spec,
          label,
          signal,
        );
      } catch (error) {
        await rmdir(dir).catch(() => {});
        throw error;
      }
    },
    async unmountDevice(dir, signal) {
      rejectWhileMounted(mounts.list(), dir, rootDir);
      const source = (await mounts.at(dir))?.source;
      await mounts.unmount(dir);
      await removeDir(dir);
      devices.delete(`${fcPluginName}/${basename(dir)}`);
      if (source !== undefined) await detach(source, signal);
    },
    async reconstructDevices() {
      const base = pluginDir(rootDir, "Filesystem");
      const names = (await listDir(base)).filter((name) => name !== basename(pluginDir(rootDir, "Block")));
      const found = names.map(async (name) => {
        const spec = await parse(join(base, name), name);
        if (!spec) return [];
        const dir = join(base, name);
        return [
          { unique: uniqueDiskName(spec), dir, spec: { ...spec, label: mountedLabelAt(mounts.list(), dir) } },
        ];
      });
      return (await Promise.all(found)).flat();
    },
  };

  const block: BlockVolumeMapper = {
    map: async (_pod, spec) => devices.get(uniqueDiskName(spec)) ?? attach(spec),
    // Pods have only links and bind mounts, which the manager removes.
    async unmap() {},
    async tearDownDevice(_target, signal, spec) {
      // Nothing of it was mapped, or another pod uses it.
      if (!spec || (await isUsed(diskDir(rootDir, diskOf(spec), "Block")))) return;
      const path = await attachedDevice(dirs, diskOf(spec));
      if (path === undefined || (await mounts.at(diskDir(rootDir, diskOf(spec), "Filesystem")))) return;
      devices.delete(uniqueDiskName(spec));
      await detachDevice(options, path, signal);
    },
    globalMapDir: (_name, spec) => spec && diskDir(rootDir, diskOf(spec), "Block"),
  };

  return {
    name: fcPluginName,
    handles: (spec) => fcSourceOf(spec) !== undefined,
    uniqueName: (_pod, spec) => uniqueDiskName(spec),
    ...diskMount(options),
    device,
    block,
    async reconstruct(target) {
      const dir = target.dir.includes(`/volumeDevices/`)
        ? await globalMapOf(await blockDirs(), target)
        : mountReferences(mounts.list(), target.dir).find((path) =>
            path.startsWith(`${pluginDir(rootDir, "Filesystem")}/`),
          );
      const spec = dir === undefined ? undefined : await parse(dir, basename(target.dir));
      return spec && { ...spec, label: mountedLabelAt(mounts.list(), target.dir) };
    },
  };
}

async function isUsed(dir: string): Promise<boolean> {
  const pods = await readdir(dir).catch((error) => {
    if (errnoOf(error) !== "ENOENT") throw error;
    return [];
  });
  return pods.length > 0;
}

async function removeDir(dir: string): Promise<void> {
  await rmdir(dir).catch((error) => {
    if (errnoOf(error) !== "ENOENT") throw error;
  });
}
