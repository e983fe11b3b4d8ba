import type { Summary, VolumeStats } from "../../../lib/model/stats-summary.ts";
import type { Family, Sample } from "./exposition.ts";

/** The parts of a summary on /metrics: container logs, and volumes of PVCs. */
export function usageFamilies({ pods }: Summary): Family[] {
  const logs = pods.flatMap(({ podRef: { uid, namespace, name: pod }, containers }) =>
    containers.flatMap(({ name: container, logs }) =>
      logs?.usedBytes === undefined
        ? []
        : [{ labels: { uid, namespace, pod, container }, value: logs.usedBytes }],
    ),
  );
  return [
    family(
      "kubelet_container_log_filesystem_used_bytes",
      "Bytes used by the container's logs on the filesystem.",
      logs,
    ),
    ...volumeFamilies(pods.flatMap(({ volume = [] }) => volume)),
  ];
}

function volumeFamilies(all: readonly VolumeStats[]): Family[] {
  // A PVC that two pods share is one volume.
  const pvcVolumes = new Map<string, VolumeStats>();
  for (const volume of all)
    if (volume.pvcRef) pvcVolumes.set(`${volume.pvcRef.namespace}/${volume.pvcRef.name}`, volume);
  const samples = (of: (volume: VolumeStats) => number | undefined): Sample[] =>
    [...pvcVolumes.values()].flatMap((volume) => {
      const value = of(volume);
      const { namespace, name } = volume.pvcRef!;
      return value === undefined ? [] : [{ labels: { namespace, persistentvolumeclaim: name }, value }];
    });
  const stats = (name: string, help: string, of: (volume: VolumeStats) => number | undefined) =>
    family(`kubelet_volume_stats_${name}`, help, samples(of));
  return [
    stats("capacity_bytes", "Capacity in bytes of the volume", (v) => v.capacityBytes),
    stats("available_bytes", "Number of available bytes in the volume", (v) => v.availableBytes),
    stats("used_bytes", "Number of used bytes in the volume", (v) => v.usedBytes),
    stats("inodes", "Maximum number of inodes in the volume", (v) => v.inodes),
    stats("inodes_free", "Number of free inodes in the volume", (v) => v.inodesFree),
    stats("inodes_used", "Number of used inodes in the volume", (v) => v.inodesUsed),
    stats(
      "health_status_abnormal",
      "Abnormal volume health status. 1 if the volume is unhealthy, 0 otherwise",
      (v) => (v.volumeHealthStats === undefined ? undefined : Number(v.volumeHealthStats.abnormal)),
    ),
  ];
}

function family(name: string, help: string, samples: readonly Sample[]): Family {
  return { name, help, type: "gauge", samples };
}
