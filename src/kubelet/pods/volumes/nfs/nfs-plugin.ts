import { rmdir } from "node:fs/promises";
import { errnoOf, KubeletError, messageOf } from "../../../../lib/base/errors.ts";
import type { Logger } from "../../../../lib/base/logger.ts";
import { makeDirs } from "../../../../lib/host/make-dirs.ts";
import type { Commands } from "../../../../lib/host/system-commands.ts";
import { joinOptions, mountByCommand, unmountByCommand } from "../tools/mount-command.ts";
import { isHost, isIPv6Address } from "../tools/network-names.ts";
import type { VolumePlugin, VolumeSpec } from "../volume-plugin.ts";

const nfsPluginName = "kubernetes.io/nfs";

export interface NfsOptions {
  readonly commands: Commands;
  /** By the mount table: an access to the directory may hang. */
  readonly mounts: { isMountPoint(path: string): Promise<boolean> };
  readonly logger: Logger;
  /** --experimental-mounter-path */
  readonly mounterPath?: string | undefined;
}

interface Export {
  readonly server: string;
  readonly path: string;
}

/** Exports of NFS servers, mounted for each pod by mount(8). */
export function nfsPlugin({ commands, mounts, logger, mounterPath }: NfsOptions): VolumePlugin {
  const unmount = async (dir: string, signal: AbortSignal) => {
    if (await mounts.isMountPoint(dir)) await unmountByCommand(commands, dir, signal);
  };
  return {
    name: nfsPluginName,
    handles: (spec) => exportOf(spec) !== undefined,
    // Each pod has its own mount, so that pods do not wait for each other.
    uniqueName: (pod, spec) => `${nfsPluginName}/${pod.metadata.uid}-${spec.name}`,
    // Clients cannot set labels on most servers, and other nodes use the files too.
    relabels: () => false,
    async setUp({ spec, dir, signal }) {
      const source = exportOf(spec);
      if (!source) throw new Error("Spec does not reference a NFS volume type");
      if (await mounts.isMountPoint(dir)) return;
      const device = deviceOf(source);
      await makeDirs(dir, 0o750);
      const options = joinOptions(spec.persistent?.spec.mountOptions ?? [], spec.readOnly ? ["ro"] : []);
      try {
        const request = { source: device, target: dir, fsType: "nfs", options, mounterPath };
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

/** `<server>:<path>`, as mount(8) expects it. Neither part can be anything else to mount(8) or its helper. */
function deviceOf({ server, path }: Export): string {
  const host = /^\[(.*)\]$/.exec(server)?.[1];
  if (host === undefined ? !isHost(server) : !isIPv6Address(host))
    throw new KubeletError(
      "Nfs",
      `nfs: invalid server ${JSON.stringify(server)}: must be a host name or an IP address`,
    );
  if (!path.startsWith("/"))
    throw new KubeletError("Nfs", `nfs: invalid path ${JSON.stringify(path)}: must be an absolute path`);
  if (/\p{Cc}/u.test(path))
    throw new KubeletError(
      "Nfs",
      `nfs: invalid path ${JSON.stringify(path)}: must not contain control characters`,
    );
  return `${isIPv6Address(server) ? `[${server}]` : server}:${path}`;
}

function exportOf({ volume, persistent }: VolumeSpec): Export | undefined {
  return persistent ? persistent.spec.nfs : volume.nfs;
}
