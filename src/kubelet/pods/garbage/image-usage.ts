import type { ContainerId, ImageService, RuntimeService } from "../../../lib/clients/cri/cri.ts";
import { hasGrpcCode } from "../../../lib/clients/cri/cri-error.ts";
import type { Image } from "../../../lib/gen/runtime/v1/api_pb.js";

export interface ImageUsageSource {
  runtime: Pick<RuntimeService, "listContainers" | "containerStatus" | "status">;
  images: Pick<ImageService, "imageStatus">;
}

/**
 * Resolves with a check whether an image is used: by a container, running or not, as its image or as a volume, or by the
 * runtime for sandboxes.
 */
export async function findUsedImages(
  { runtime, images }: ImageUsageSource,
  signal?: AbortSignal,
): Promise<(image: Image) => boolean> {
  const used = new Set<string>();
  for (const container of await runtime.listContainers(undefined, { signal })) {
    used.add(container.imageId || container.imageRef);
    for (const image of await mountedImages(runtime, container.id as ContainerId, signal)) used.add(image);
  }
  const forSandboxes = await sandboxImage(runtime, signal);
  if (forSandboxes) {
    const image = await images.imageStatus({ image: forSandboxes }, { signal });
    if (image) used.add(image.id);
  }
  return (image) => used.has(image.id) || image.repoDigests.some((digest) => used.has(digest));
}

async function mountedImages(
  runtime: ImageUsageSource["runtime"],
  id: ContainerId,
  signal: AbortSignal | undefined,
): Promise<string[]> {
  try {
    const { status } = await runtime.containerStatus(id, { signal });
    return status?.mounts.flatMap((mount) => mount.image?.image ?? []) ?? [];
  } catch (error) {
    // Removed since the listing.
    if (hasGrpcCode(error, "NOT_FOUND")) return [];
    throw error;
  }
}

/** The sandbox image. No container uses it, and containerd before 1.7 does not pin it, but its status names it. */
async function sandboxImage(
  runtime: ImageUsageSource["runtime"],
  signal: AbortSignal | undefined,
): Promise<string | undefined> {
  const { info } = await runtime.status(true, { signal });
  try {
    const config = JSON.parse(info.config ?? "{}") as { sandboxImage?: unknown };
    return typeof config.sandboxImage === "string" ? config.sandboxImage : undefined;
  } catch {
    return undefined;
  }
}
