import { open, realpath, rm, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { errnoOf } from "../../../../lib/base/errors.ts";
import { entryExists } from "../../../../lib/host/entries.ts";
import { attachLoopDevice, detachLoopDevice } from "../../../../lib/host/loop-devices.ts";
import { makeDirs } from "../../../../lib/host/make-dirs.ts";
import type { Mounts } from "../../../../lib/host/mounts.ts";
import { removeEntry } from "../../../../lib/host/remove-tree.ts";
import type { VolumeRecord } from "./volume-state.ts";

export interface BlockMapsOptions {
  readonly mounts: Pick<Mounts, "bind" | "unmount" | "isMountPoint">;
  /** Loop devices that lock a device, so that its name cannot be reused for another device. */
  readonly locks?: { attach(path: string): Promise<unknown>; detach(path: string): Promise<void> };
}

type MappedVolume = Pick<VolumeRecord, "dir" | "name" | "podUid" | "plugin" | "spec">;

const loopLocks = { attach: attachLoopDevice, detach: detachLoopDevice };

/** Maps a block device for a pod: a symlink in the pod's directory, and a bind mount in the plugin's directory, which all pods share. */
export class BlockMaps {
  readonly #o: BlockMapsOptions;

  constructor(options: BlockMapsOptions) {
    this.#o = options;
  }

  async map(record: MappedVolume, device: string): Promise<void> {
    const target = await realpath(device);
    const global = globalPath(record);
    if (global !== undefined) {
      await this.#bind(target, global);
      await (this.#o.locks ?? loopLocks).attach(global);
    }
    await makeDirs(dirname(record.dir), 0o750);
    await rm(record.dir, { force: true }); // after a reboot the device may have another name
    await symlink(target, record.dir);
  }

  async unmap(record: MappedVolume): Promise<void> {
    await rm(record.dir, { force: true });
    const global = globalPath(record);
    if (global === undefined) return;
    if (await entryExists(global)) {
      await (this.#o.locks ?? loopLocks).detach(global);
      await this.#o.mounts.unmount(global);
      await removeEntry(global);
    }
    await removeEntry(dirname(global)).catch((error) => {
      if (errnoOf(error) !== "ENOTEMPTY") throw error; // other pods use it
    });
  }

  async #bind(device: string, path: string): Promise<void> {
    await makeDirs(dirname(path), 0o750);
    if (await this.#o.mounts.isMountPoint(path)) return;
    await (await open(path, "a", 0o640)).close();
    try {
      await this.#o.mounts.bind(device, path);
    } catch (error) {
      await removeEntry(path);
      throw error;
    }
  }
}

function globalPath({ plugin, name, spec, podUid }: MappedVolume): string | undefined {
  const dir = plugin.block?.globalMapDir?.(name, spec);
  return dir === undefined ? undefined : join(dir, podUid);
}
