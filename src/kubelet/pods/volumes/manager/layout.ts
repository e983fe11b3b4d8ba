import { join } from "node:path";
import type { PodUid } from "../../../../lib/model/pod.ts";

export type VolumeKind = "mount" | "block";

/** Directory names of both kinds in a pod's directory. */
export const kindDirs: Record<VolumeKind, string> = { mount: "volumes", block: "volumeDevices" };

/** "kubernetes.io/secret" as a directory name: "kubernetes.io~secret". */
function escapePlugin(plugin: string): string {
  return plugin.replaceAll("/", "~");
}

export function unescapePlugin(dir: string): string {
  return dir.replaceAll("~", "/");
}

function podDirOf(rootDir: string, uid: PodUid): string {
  return join(rootDir, "pods", uid);
}

/** `<root>/pods/<uid>/volumes/kubernetes.io~secret/<name>`; for block volumes the symlink to the device. */
export function volumeDir(
  rootDir: string,
  uid: PodUid,
  kind: VolumeKind,
  plugin: string,
  name: string,
): string {
  return join(podDirOf(rootDir, uid), kindDirs[kind], escapePlugin(plugin), name);
}
