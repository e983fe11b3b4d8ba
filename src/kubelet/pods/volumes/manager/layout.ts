import { join } from "node:path";
import type { PodUid } from "../../../../lib/model/pod.ts";

export type VolumeKind = "mount" | "block";

/** Folder names of both kinds in a pod's folder. */
export const kindDirs: Record<VolumeKind, string> = { mount: "volumes", block: "volumeDevices" };

/** "kubernetes.io/secret" as a folder: "kubernetes.io~secret". */
function escapePlugin(plugin: string): string {
  return plugin.replaceAll("/", "~");
}

export function unescapePlugin(folder: string): string {
  return folder.replaceAll("~", "/");
}

function podDirOf(rootDir: string, uid: PodUid): string {
  return join(rootDir, "pods", uid);
}

/** `<root>/pods/<uid>/volumes/kubernetes.io~secret/<name>`; for block volumes the link to the device. */
export function volumeDir(
  rootDir: string,
  uid: PodUid,
  kind: VolumeKind,
  plugin: string,
  name: string,
): string {
  return join(podDirOf(rootDir, uid), kindDirs[kind], escapePlugin(plugin), name);
}
