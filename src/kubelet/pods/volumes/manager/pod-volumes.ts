import type { Pod, Volume } from "../../../../lib/model/pod.ts";
import type { VolumeSpec } from "../volume-plugin.ts";
import type { VolumeMode } from "./layout.ts";

export interface UsedVolume {
  readonly name: string;
  /** Undefined if the pod has no volume of that name. */
  readonly volume: Volume | undefined;
  readonly volumeMode: VolumeMode;
}

/** The volumes that any container of the pod mounts or uses as a device; others are never set up. */
export function usedVolumes(pod: Pod): UsedVolume[] {
  const { containers, initContainers = [], ephemeralContainers = [], volumes = [] } = pod.spec;
  const modes = new Map<string, VolumeMode>();
  for (const container of [...initContainers, ...containers, ...ephemeralContainers]) {
    for (const { name } of container.volumeDevices ?? []) modes.set(name, "Block");
    for (const { name } of container.volumeMounts ?? []) modes.set(name, "Filesystem");
  }
  const byName = new Map(volumes.map((volume) => [volume.name, volume]));
  return [...modes].map(([name, volumeMode]) => ({ name, volumeMode, volume: byName.get(name) }));
}

/** True if the volume is a PVC that has to be resolved. */
export function isClaim(volume: Volume): boolean {
  return volume.persistentVolumeClaim !== undefined || volume.ephemeral !== undefined;
}

/** Types that are always read-only: images by definition; with the others, writes of containers would be lost with the next update. */
const readOnlySources = ["secret", "configMap", "downwardAPI", "projected", "image"];

export function inlineSpec(volume: Volume): VolumeSpec {
  const sources: [string, { readOnly?: boolean } | string][] = Object.entries(volume);
  const readOnly = sources.some(
    ([name, source]) =>
      readOnlySources.includes(name) || (typeof source === "object" && source.readOnly === true),
  );
  return { name: volume.name, volume, readOnly };
}
