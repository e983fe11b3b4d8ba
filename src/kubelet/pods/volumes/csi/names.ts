import { createHash } from "node:crypto";
import { join } from "node:path";

export const csiPluginName = "kubernetes.io/csi";

/** The VolumeAttachment of a volume and a node. */
export function attachmentName(volumeHandle: string, driver: string, node: string): string {
  return `csi-${sha256(`${volumeHandle}${driver}${node}`)}`;
}

/** An inline volume has no handle of its own: this one is the same as long as the pod lives. */
export function inlineHandle(podUid: string, volumeName: string): string {
  return `csi-${sha256(`${podUid}${volumeName}`)}`;
}

/** Where the volume is staged for the whole node. */
export function globalMountDir(rootDir: string, driver: string, volumeHandle: string): string {
  return join(rootDir, "plugins", csiPluginName, driver, sha256(volumeHandle), "globalmount");
}

export interface BlockPaths {
  readonly staging: string;
  readonly publishDir: string;
  readonly publish: string;
  /** All that is kept of the volume. */
  readonly volume: string;
  readonly data: string;
  /** Here the device is bound for each pod that has it. */
  readonly global: string;
  /** One entry for each pod whose device the driver has not taken back yet. */
  readonly users: string;
  readonly user: string;
}

export function blockPaths(rootDir: string, volumeName: string, podUid: string): BlockPaths {
  const name = volumeName.replaceAll("/", "~");
  const base = join(rootDir, "plugins", csiPluginName, "volumeDevices");
  const publishDir = join(base, "publish", volumeName);
  const volume = join(base, name);
  const users = join(volume, "users");
  return {
    staging: join(base, "staging", volumeName),
    publishDir,
    publish: join(publishDir, podUid),
    volume,
    data: join(volume, "data"),
    global: join(volume, "dev"),
    users,
    user: join(users, podUid),
  };
}

/** Below the volume's own folder, which also holds what is noted of it. */
export function mountPathIn(dir: string): string {
  return join(dir, "mount");
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
