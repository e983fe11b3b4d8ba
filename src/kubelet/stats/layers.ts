import type { WallTime } from "../../lib/base/time.ts";
import type { ContainerStats } from "../../lib/gen/runtime/v1/api_pb.js";
import type { FilesystemSpace } from "../../lib/host/disk-usage.ts";
import { timeOfNs } from "./times.ts";

/** What a container has written on the disk of images. */
export interface Layer {
  readonly device: string;
  readonly usedBytes: number;
  /** Files that the container has made. */
  readonly inodesUsed: number;
  readonly space: FilesystemSpace;
  /** Milliseconds since the epoch. */
  readonly time: WallTime;
}

export interface LayerDoors {
  space(mountpoint: string): Promise<FilesystemSpace>;
  device(mountpoint: string): Promise<string>;
}

/** By container ID; each file system is asked about once. */
export async function layersOf(
  counts: ReadonlyMap<string, ContainerStats>,
  doors: LayerDoors,
): Promise<ReadonlyMap<string, Layer>> {
  const asked = new Map<string, Promise<Pick<Layer, "space" | "device"> | undefined>>();
  const placeOf = (mountpoint: string) => {
    const known = asked.get(mountpoint) ?? lookAt(mountpoint, doors);
    asked.set(mountpoint, known);
    return known;
  };
  const layers = new Map<string, Layer>();
  for (const [id, { writableLayer }] of counts) {
    const mountpoint = writableLayer?.fsId?.mountpoint;
    if (!writableLayer?.usedBytes || !mountpoint) continue;
    const place = await placeOf(mountpoint);
    const usedBytes = Number(writableLayer.usedBytes.value);
    const inodesUsed = Number(writableLayer.inodesUsed?.value ?? 0n);
    if (place) layers.set(id, { ...place, usedBytes, inodesUsed, time: timeOfNs(writableLayer.timestamp) });
  }
  return layers;
}

async function lookAt(
  mountpoint: string,
  doors: LayerDoors,
): Promise<Pick<Layer, "space" | "device"> | undefined> {
  try {
    const [space, device] = await Promise.all([doors.space(mountpoint), doors.device(mountpoint)]);
    return { space, device };
  } catch {
    return undefined;
  }
}
