import { createHash } from "node:crypto";
import { join } from "node:path";
import { pathElement } from "../../../../lib/host/path-element.ts";

export const csiPluginName = "kubernetes.io/csi";

/** The name of the VolumeAttachment of a volume and a node. */
export function attachmentName(volumeHandle: string, driver: string, node: string): string {
  return `csi-${sha256(`${volumeHandle}${driver}${node}`)}`;
}

/** The handle of an inline volume, stable for the lifetime of the pod. */
export function inlineHandle(podUid: string, volumeName: string): string {
  return `csi-${sha256(`${podUid}${volumeName}`)}`;
}

/** The staging path of the volume. */
export function globalMountDir(rootDir: string, driver: string, volumeHandle: string): string {
  return join(rootDir, "plugins", csiPluginName, pathElement(driver), sha256(volumeHandle), "globalmount");
}

export interface BlockPaths {
  readonly staging: string;
  readonly publishDir: string;
  readonly publish: string;
  /** The directory with the state of the volume. */
  readonly volume: string;
  readonly data: string;
  /** The bind mounts of the device, one for each pod. */
  readonly global: string;
  /** One file for each pod whose device is not unpublished yet. */
  readonly podRefs: string;
  readonly podRef: string;
}

export function blockPaths(rootDir: string, volumeName: string, podUid: string): BlockPaths {
  const name = pathElement(volumeName);
  const base = join(rootDir, "plugins", csiPluginName, "volumeDevices");
  const publishDir = join(base, "publish", name);
  const volume = join(base, name);
  const podRefs = join(volume, "users");
  return {
    staging: join(base, "staging", name),
    publishDir,
    publish: join(publishDir, podUid),
    volume,
    data: join(volume, "data"),
    global: join(volume, "dev"),
    podRefs,
    podRef: join(podRefs, podUid),
  };
}

/** The mount point in the volume's directory, which also contains the volume data. */
export function mountPathIn(dir: string): string {
  return join(dir, "mount");
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
