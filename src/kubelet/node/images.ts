import type { NodeImage } from "./node-types.ts";

/** An image as the runtime lists it. */
export interface ImageInfo {
  readonly repoDigests: readonly string[];
  readonly repoTags: readonly string[];
  readonly sizeBytes: number;
}

const maxNames = 5;

/** The largest images, digests before tags. `max` is nodeStatusMaxImages, -1 for all of them. */
export function nodeImages(images: readonly ImageInfo[], max: number): NodeImage[] {
  return images
    .map(({ repoDigests, repoTags, sizeBytes }) => ({
      names: [...repoDigests, ...repoTags].slice(0, maxNames),
      sizeBytes,
    }))
    .sort((a, b) => b.sizeBytes - a.sizeBytes || compare(a.names[0] ?? "", b.names[0] ?? ""))
    .slice(0, max < 0 ? undefined : max);
}

/** A stable order: images of one size would otherwise change places when the runtime lists them differently. */
function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
