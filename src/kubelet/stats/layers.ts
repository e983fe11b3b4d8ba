import type { WallTime } from "../../lib/base/time.ts";
import type { ContainerStats } from "../../lib/gen/runtime/v1/api_pb.js";
import type { FilesystemSpace } from "../../lib/host/disk-usage.ts";
import { layerDirOf } from "./filesystems.ts";
import { timeOfNs } from "./times.ts";

/** The writable layer of a container. */
export interface Layer {
  readonly device: string;
  readonly usedBytes: number;
  /** Files that the container has created. */
  readonly inodesUsed: number;
  readonly space: FilesystemSpace;
  /** Milliseconds since the epoch. */
  readonly time: WallTime;
}

export interface LayerContext {
  space(dir: string): Promise<FilesystemSpace>;
  device(dir: string): Promise<string>;
}

/** The usage of the writable layers, by container ID. It queries each filesystem once. */
export async function layersOf(
  containers: ReadonlyMap<string, ContainerStats>,
  context: LayerContext,
): Promise<ReadonlyMap<string, Layer>> {
  const spaces = new Map<string, Promise<Pick<Layer, "space" | "device"> | undefined>>();
  const filesystemOf = (dir: string) => {
    const known = spaces.get(dir) ?? inspect(dir, context);
    spaces.set(dir, known);
    return known;
  };
  const layers = new Map<string, Layer>();
  for (const [id, stats] of containers) {
    const { writableLayer } = stats;
    const dir = layerDirOf(stats);
    if (!writableLayer?.usedBytes || !dir) continue;
    const filesystem = await filesystemOf(dir);
    const usedBytes = Number(writableLayer.usedBytes.value);
    const inodesUsed = Number(writableLayer.inodesUsed?.value ?? 0n);
    if (filesystem)
      layers.set(id, { ...filesystem, usedBytes, inodesUsed, time: timeOfNs(writableLayer.timestamp) });
  }
  return layers;
}

async function inspect(
  dir: string,
  context: LayerContext,
): Promise<Pick<Layer, "space" | "device"> | undefined> {
  try {
    const [space, device] = await Promise.all([context.space(dir), context.device(dir)]);
    return { space, device };
  } catch {
    return undefined;
  }
}
