import { join, relative } from "node:path";
import { pathElement } from "../../../../lib/host/path-element.ts";
import type { PodUid } from "../../../../lib/model/pod.ts";

export type VolumeMode = "Filesystem" | "Block";

/** Directory names of both modes in a pod's directory. */
export const modeDirs: Record<VolumeMode, string> = { Filesystem: "volumes", Block: "volumeDevices" };

/** "kubernetes.io/secret" as a directory name: "kubernetes.io~secret". */
function escapePlugin(plugin: string): string {
  return plugin.replaceAll("/", "~");
}

export function unescapePlugin(dir: string): string {
  return dir.replaceAll("~", "/");
}

/** The plugin to which this directory in a pod's directory belongs; the volume's directory or one below it. */
export function pluginOfDir(rootDir: string, dir: string): string {
  const [, , , escaped = ""] = relative(rootDir, dir).split("/");
  return unescapePlugin(escaped);
}

function podDirOf(rootDir: string, uid: PodUid): string {
  return join(rootDir, "pods", uid);
}

/** `<root>/pods/<uid>/volumes/kubernetes.io~secret/<name>`; for block volumes the symlink to the device. */
export function volumeDir(
  rootDir: string,
  uid: PodUid,
  volumeMode: VolumeMode,
  plugin: string,
  name: string,
): string {
  return join(podDirOf(rootDir, uid), modeDirs[volumeMode], escapePlugin(plugin), pathElement(name));
}
