import { rmdir } from "node:fs/promises";
import { errnoOf, messageOf } from "../../../../lib/base/errors.ts";
import type { Logger } from "../../../../lib/base/logger.ts";
import { makeDirs } from "../../../../lib/host/make-dirs.ts";
import type { Mounts } from "../../../../lib/host/mounts.ts";
import type { SetUpRequest, VolumePlugin, VolumeSpec } from "../volume-plugin.ts";
import { type FormatOptions, formatAndMount } from "./format-and-mount.ts";
import { contextOption } from "./selinux-labels.ts";

export interface DiskMountOptions {
  readonly mounts: Pick<Mounts, "bind" | "unmount" | "isMountPoint">;
  readonly ownership: {
    apply(
      path: string,
      request: Pick<SetUpRequest, "pod" | "spec" | "fsGroupChangePolicy" | "signal"> & {
        readonly fsGroup: number;
      },
    ): Promise<void>;
  };
  readonly logger: Logger;
}

/** Mounts a disk for the node, with the options of its volume; formats it first if it is empty. */
export function mountDisk(
  deps: FormatOptions,
  disk: { readonly device: string; readonly dir: string; readonly fsType: string | undefined },
  { persistent, readOnly }: VolumeSpec,
  label: string,
  signal: AbortSignal,
): Promise<void> {
  const options: string[] = [
    ...(persistent?.spec.mountOptions ?? []),
    ...(readOnly ? ["ro"] : []),
    ...contextOption(label),
  ];
  return formatAndMount(deps, disk.device, disk.dir, disk.fsType, options, signal);
}

/** The pods' mounts of a disk that is mounted once for the node: bind mounts of it. */
export function diskMount({
  mounts,
  ownership,
  logger,
}: DiskMountOptions): Pick<VolumePlugin, "setUp" | "tearDown" | "relabels" | "mountsWithLabel"> {
  return {
    relabels: (spec, _path, label) => !spec.readOnly && label === "",
    mountsWithLabel: async () => true,
    async setUp(request) {
      const { spec, dir, deviceDir, fsGroup } = request;
      if (await mounts.isMountPoint(dir)) return;
      await makeDirs(dir, 0o750);
      try {
        const options: string[] = spec.persistent?.spec.mountOptions ?? [];
        await mounts.bind(deviceDir!, dir, { readOnly: spec.readOnly, options });
      } catch (error) {
        await mounts
          .unmount(dir)
          .then(() => rmdir(dir))
          .catch(() => {});
        throw error;
      }
      if (spec.readOnly || fsGroup === undefined) return;
      await ownership.apply(dir, { ...request, fsGroup }).catch((error: unknown) => {
        request.signal.throwIfAborted();
        logger.warn("Failed to set group ownership of volume", { path: dir, err: messageOf(error) });
      });
    },
    async tearDown({ dir }) {
      await mounts.unmount(dir);
      await rmdir(dir).catch((error) => {
        if (errnoOf(error) !== "ENOENT") throw error;
      });
    },
  };
}
