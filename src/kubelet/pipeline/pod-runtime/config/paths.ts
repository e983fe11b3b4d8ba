import { join } from "node:path";
import { KubeletError } from "../../../../lib/base/errors.ts";
import type { Pod, PodId, PodUid } from "../../../../lib/model/pod.ts";

/** Where a pod's files are on the node. Tools outside of the kubelet rely on these paths. */
export function podDir(rootDir: string, uid: PodUid): string {
  if (!isDirName(uid))
    throw new KubeletError("InvalidUid", `${JSON.stringify(uid)} is not the name of a pod's directory`);
  return join(rootDir, "pods", uid);
}

/** False for a name that leads to another directory: a UID may come from the name of a directory that a pod created. */
export function isDirName(name: string): boolean {
  return !["", ".", ".."].includes(name) && !/[/\0]/.test(name);
}

export function etcHostsFile(rootDir: string, pod: Pod): string {
  return join(podDir(rootDir, pod.metadata.uid), "etc-hosts");
}

export function containerDir(rootDir: string, pod: Pod, containerName: string): string {
  return join(podDir(rootDir, pod.metadata.uid), "containers", containerName);
}

export function podLogDir(podLogsDir: string, { namespace, name, uid }: PodId): string {
  return join(podLogsDir, `${namespace}_${name}_${uid}`);
}

/** Relative to the pod's log directory. */
export function containerLogPath(containerName: string, attempt: number): string {
  return join(containerName, `${attempt}.log`);
}

/** A name for a termination message file that no earlier start of the container used. `random` is in [0, 1). */
export function terminationFileName(random: () => number = Math.random): string {
  return Math.floor(random() * 0x1_0000_0000)
    .toString(16)
    .padStart(8, "0");
}
