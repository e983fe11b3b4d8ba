import type { ImageFsInfoResponse } from "../../lib/gen/runtime/v1/api_pb.js";
import type { FilesystemSpace } from "../../lib/host/disk-usage.ts";
import type { FsStats } from "../../lib/model/stats-summary.ts";
import { runtimeFs } from "./from-runtime.ts";

/** Available space and capacity. */
export type FsSpace = Pick<FsStats, "availableBytes" | "capacityBytes" | "inodesFree" | "inodes">;

export function fsSpaceOf(space: FilesystemSpace): FsSpace {
  const { availableBytes, capacityBytes, inodesFree, inodes } = space;
  return { availableBytes, capacityBytes, inodesFree, inodes };
}

/** The image filesystem, and that of writable layers, which may be another. */
export async function runtimeFilesystems(
  info: ImageFsInfoResponse,
  space: (mountpoint: string) => Promise<FilesystemSpace | undefined>,
): Promise<{ imageFs?: FsStats; containerFs?: FsStats }> {
  const [images] = info.imageFilesystems;
  if (images === undefined) return {};
  const [containers] = info.containerFilesystems;
  const imageFs = await withSpace(runtimeFs(images)!, images.fsId?.mountpoint, space);
  const isSplit = containers?.fsId !== undefined && containers.fsId.mountpoint !== images.fsId?.mountpoint;
  const containerFs = isSplit
    ? await withSpace(runtimeFs(containers)!, containers.fsId?.mountpoint, space)
    : imageFs;
  return { imageFs, containerFs };
}

/** A filesystem that is not visible here has no space to report. */
async function withSpace(
  fs: FsStats,
  mountpoint: string | undefined,
  space: (mountpoint: string) => Promise<FilesystemSpace | undefined>,
): Promise<FsStats> {
  const found = mountpoint ? await space(mountpoint) : undefined;
  return found ? { ...fs, ...fsSpaceOf(found) } : fs;
}
