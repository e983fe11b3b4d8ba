import type { ContainerId, ImageService, RuntimeService } from "../../../lib/clients/cri/cri.ts";
import { hasGrpcCode } from "../../../lib/clients/cri/cri-error.ts";
import type { Image, ImageSpec } from "../../../lib/gen/runtime/v1/api_pb.js";

export interface ImageUsageSource {
  /** The runtime stores images by runtime handler (RuntimeClassInImageCriApi): an image that one handler uses may be unused by another. */
  readonly byRuntimeHandler?: boolean | undefined;
  runtime: Pick<RuntimeService, "listContainers" | "containerStatus" | "status">;
  images: Pick<ImageService, "imageStatus">;
  /** The images of containers that have not started yet. */
  prefetched?: { imagesInUse(): Iterable<string> } | undefined;
}

/**
 * Resolves with a check whether an image is used: by a container, running, exited or about to start, as its image or as a
 * volume, or by the runtime for sandboxes. If either names no runtime handler, the runtime does not store its images by handler, or does not report which
 * one a container uses: they match.
 */
export async function findUsedImages(
  { runtime, images, prefetched, byRuntimeHandler = false }: ImageUsageSource,
  signal?: AbortSignal,
): Promise<(image: Image) => boolean> {
  const used = { byAny: new Set<string>(), byUnknown: new Set<string>(), byHandler: new Set<string>() };
  const add = (id: string, handler = "") => {
    used.byAny.add(id);
    if (handler === "") used.byUnknown.add(id);
    else used.byHandler.add(handledKey(id, handler));
  };
  for (const container of await runtime.listContainers(undefined, { signal })) {
    add(container.imageId || container.imageRef, container.image?.runtimeHandler);
    for (const { image, runtimeHandler } of await mountedImages(runtime, container.id as ContainerId, signal))
      add(image, runtimeHandler);
  }
  const forSandboxes = await sandboxImage(runtime, signal);
  if (forSandboxes) {
    const image = await images.imageStatus({ image: forSandboxes }, { signal });
    if (image) add(image.id);
  }
  for (const id of prefetched?.imagesInUse() ?? []) add(id);
  return (image) => {
    const handler = byRuntimeHandler ? (image.spec?.runtimeHandler ?? "") : "";
    const isUsed = (name: string) =>
      handler === ""
        ? used.byAny.has(name)
        : used.byUnknown.has(name) || used.byHandler.has(handledKey(name, handler));
    return isUsed(image.id) || image.repoDigests.some(isUsed);
  };
}

function handledKey(id: string, handler: string): string {
  return `${id},${handler}`;
}

async function mountedImages(
  runtime: ImageUsageSource["runtime"],
  id: ContainerId,
  signal: AbortSignal | undefined,
): Promise<ImageSpec[]> {
  try {
    const { status } = await runtime.containerStatus(id, { signal });
    return status?.mounts.flatMap((mount) => (mount.image?.image ? [mount.image] : [])) ?? [];
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
