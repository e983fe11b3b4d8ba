import { rmdir } from "node:fs/promises";
import { isIPv6 } from "node:net";
import { errnoOf, messageOf } from "../../../../lib/base/errors.ts";
import type { Logger } from "../../../../lib/base/logger.ts";
import { makeDirs } from "../../../../lib/host/make-dirs.ts";
import type { Commands } from "../../../../lib/host/system-commands.ts";
import { joinOptions, mountByCommand, unmountByCommand } from "../tools/mount-command.ts";
import type { VolumePlugin, VolumeSpec } from "../volume-plugin.ts";

const nfsPluginName = "kubernetes.io/nfs";

export interface NfsOptions {
  readonly commands: Commands;
  /** By the mount table: an access to the directory may hang. */
  readonly mounts: { isMountPoint(path: string): Promise<boolean> };
  readonly logger: Logger;
}

interface Export {
  readonly server: string;
  readonly path: string;
}

/** Exports of NFS servers, mounted for each pod by mount(8). */
export function nfsPlugin({ commands, mounts, logger }: NfsOptions): VolumePlugin {
  const unmount = async (dir: string, signal: AbortSignal) => {
    if (await mounts.isMountPoint(dir)) await unmountByCommand(commands, dir, signal);
  };
  return {
    name: nfsPluginName,
    handles: (spec) => exportOf(spec) !== undefined,
    // Each pod has its own mount, so that pods do not wait for each other.
    uniqueName: (pod, spec) => `${nfsPluginName}/${pod.metadata.uid}-${spec.name}`,
    async setUp({ spec, dir, signal }) {
      const source = exportOf(spec);
      if (!source) throw new Error("Spec does not reference a NFS volume type");
      if (await mounts.isMountPoint(dir)) return;
      await makeDirs(dir, 0o750);
      const options = joinOptions(spec.persistent?.spec.mountOptions ?? [], spec.readOnly ? ["ro"] : []);
      const server = isIPv6(source.server) ? `[${source.server}]` : source.server;
      try {
        const request = { source: `${server}:${source.path}`, target: dir, fsType: "nfs", options };
        await mountByCommand(commands, request, signal);
      } catch (error) {
        await unmount(dir, signal).then(
          () => rmdir(dir).catch(() => {}),
          (reason: unknown) =>
            logger.warn("Failed to clean up mount point", { path: dir, err: messageOf(reason) }),
        );
        throw error;
      }
    },
    async tearDown({ dir }, signal) {
      await unmount(dir, signal);
      await rmdir(dir).catch((error) => {
        if (errnoOf(error) !== "ENOENT") throw error;
      });
    },
  };
}

function exportOf({ volume, persistent }: VolumeSpec): Export | undefined {
  return persistent ? persistent.spec.nfs : volume.nfs;
}
