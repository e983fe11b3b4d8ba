import { containerIdIn, isSystemOom, type OomKill } from "../../lib/model/oom-kill.ts";
import type { Pod } from "../../lib/model/pod.ts";

/** Which process the kernel killed, and which memory limit was reached. */
export function oomText(kill: OomKill, pod: Pod | undefined): string {
  const { process, pid, residentBytes } = kill;
  const size = residentBytes === undefined ? "" : `, ${shortBytes(residentBytes)}`;
  return `the kernel killed process ${process} (pid ${pid}${size}) because ${limitText(kill, pod)}`;
}

function limitText(kill: OomKill, pod: Pod | undefined): string {
  if (isSystemOom(kill)) return "the node ran out of memory";
  const { cgroup, usage } = kill;
  const used = usage
    ? `used ${shortBytes(usage.bytes)} of its memory limit of ${shortBytes(usage.limit)}`
    : "reached its memory limit";
  if (containerIdIn(cgroup) !== undefined) return `the container ${used}`;
  if (!pod || !isOfPod(cgroup, pod)) return `cgroup ${cgroup} ${used}`;
  // The sandbox uses memory too, so the pod may reach its limit before its only container does.
  const isSum = pod.spec.resources?.limits?.memory === undefined;
  return `the pod ${used}${isSum ? ", the sum of the limits of its containers" : ""}`;
}

/** Names of systemd slices have no dashes in the UID. */
function isOfPod(cgroup: string, { metadata }: Pod): boolean {
  return cgroup.replaceAll("_", "-").includes(`pod${metadata.uid}`);
}

const units = ["Ki", "Mi", "Gi", "Ti"];

/** "21.5Mi", "8Gi". */
function shortBytes(bytes: number): string {
  const power = Math.max(1, Math.min(units.length, Math.floor(Math.log2(Math.max(bytes, 1)) / 10)));
  return `${Math.round((bytes / 1024 ** power) * 10) / 10}${units[power - 1]}`;
}
