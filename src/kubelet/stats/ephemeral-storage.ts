import type { Pod } from "../../lib/model/pod.ts";
import type { ContainerStats, FsStats, VolumeStats } from "../../lib/model/stats-summary.ts";
import type { FsSpace } from "./filesystems.ts";
import type { FileUsage } from "./log-usage.ts";

/** True if the volume is local ephemeral storage. */
export function isEphemeral(volume: NonNullable<Pod["spec"]["volumes"]>[number]): boolean {
  if (volume.emptyDir) return !volume.emptyDir.medium;
  return volume.gitRepo !== undefined || volume.configMap !== undefined;
}

export interface StorageParts {
  readonly time: string;
  readonly space: FsSpace;
  readonly containers: readonly Pick<ContainerStats, "rootfs" | "logs">[];
  /** The volumes that are ephemeral. */
  readonly volumes: readonly VolumeStats[];
  /** Files of the pod itself: its log directory, its hosts file. */
  readonly files: readonly (FileUsage | undefined)[];
}

/** The local ephemeral storage of a pod. */
export function ephemeralStorage({ time, space, containers, volumes, files }: StorageParts): FsStats {
  const parts: (Pick<FsStats, "usedBytes" | "inodesUsed"> | undefined)[] = [
    // Logs are only included together with a writable layer, as in the reference kubelet.
    ...containers.flatMap(({ rootfs, logs }) => (rootfs ? [rootfs, logs] : [])),
    ...volumes,
    ...files.map((usage) => usage && { usedBytes: usage.bytes, inodesUsed: usage.files }),
  ];
  const sum = (key: "usedBytes" | "inodesUsed") =>
    parts.reduce<number | undefined>((total, part) => {
      const value = part?.[key];
      return value === undefined ? total : (total ?? 0) + value;
    }, undefined);
  const usedBytes = sum("usedBytes");
  const inodesUsed = sum("inodesUsed");
  return {
    time,
    ...space,
    ...(usedBytes !== undefined && { usedBytes }),
    ...(inodesUsed !== undefined && { inodesUsed }),
  };
}
