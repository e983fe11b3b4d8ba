import type {
  ContainerStats,
  FilesystemUsage,
  ImageFsInfoResponse,
} from "../../lib/gen/runtime/v1/api_pb.js";
import type { FilesystemSpace } from "../../lib/host/disk-usage.ts";
import type { FsStats } from "../../lib/model/stats-summary.ts";
import { runtimeFs } from "./from-runtime.ts";

/** Available space and capacity. */
export type FsSpace = Pick<FsStats, "availableBytes" | "capacityBytes" | "inodesFree" | "inodes">;

export function fsSpaceOf(space: FilesystemSpace): FsSpace {
  const { availableBytes, capacityBytes, inodesFree, inodes } = space;
  return { availableBytes, capacityBytes, inodesFree, inodes };
}

export interface FilesystemsContext {
  space(mountpoint: string): Promise<FilesystemSpace | undefined>;
  device(mountpoint: string): Promise<string | undefined>;
  /** Inodes of the whole filesystem, not only of images; directories on one device are one filesystem. */
  readonly asCadvisor: boolean;
}

/** The image filesystem, and the filesystem of writable layers, which may be another. */
export async function runtimeFilesystems(
  info: ImageFsInfoResponse,
  context: FilesystemsContext,
): Promise<{ imageFs?: FsStats; containerFs?: FsStats }> {
  const [images] = info.imageFilesystems;
  if (images === undefined) return {};
  const [containers] = info.containerFilesystems;
  const imageFs = await withSpace(images, context);
  const isSplit = containers?.fsId !== undefined && (await areApart(images, containers, context));
  return { imageFs, containerFs: isSplit ? await withSpace(containers, context) : imageFs };
}

async function areApart(
  images: FilesystemUsage,
  containers: FilesystemUsage,
  { device, asCadvisor }: FilesystemsContext,
): Promise<boolean> {
  const [first, second] = [images, containers].map(({ fsId }) => fsId?.mountpoint ?? "");
  if (first === second || !asCadvisor) return first !== second;
  return (await device(first!)) !== (await device(second!));
}

/** A filesystem that is not visible here has no space to report. */
async function withSpace(
  usage: FilesystemUsage,
  { space, asCadvisor }: FilesystemsContext,
): Promise<FsStats> {
  const fs = runtimeFs(usage)!;
  const found = usage.fsId?.mountpoint ? await space(usage.fsId.mountpoint) : undefined;
  if (!found) return fs;
  return { ...fs, ...fsSpaceOf(found), ...(asCadvisor && { inodesUsed: found.inodesUsed }) };
}

/** The directory of a writable layer. CRI-O reports where the layer is mounted: that mount has a device of its own. */
export function layerDirOf({ writableLayer }: Pick<ContainerStats, "writableLayer">): string | undefined {
  return writableLayer?.fsId?.mountpoint.replace(/\/merged$/, "") || undefined;
}
