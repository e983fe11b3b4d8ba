import type { Image } from "../../../lib/gen/runtime/v1/api_pb.js";

/** An image as it was seen over time. Times are milliseconds since the epoch. */
export interface ImageRecord {
  readonly id: string;
  readonly size: number;
  readonly pinned: boolean;
  readonly used: boolean;
  readonly firstSeen: number;
  /** 0 if it was not in use since the agent started. */
  readonly lastUsed: number;
}

/** The records after another look: those of images that are gone are dropped. */
export function updateRecords(
  before: ReadonlyMap<string, ImageRecord>,
  images: Iterable<Image>,
  isUsed: (image: Image) => boolean,
  now: number,
): Map<string, ImageRecord> {
  const after = new Map<string, ImageRecord>();
  for (const image of images) {
    const known = before.get(image.id);
    const used = isUsed(image);
    after.set(image.id, {
      id: image.id,
      size: Number(image.size),
      pinned: image.pinned,
      used,
      firstSeen: known?.firstSeen ?? now,
      lastUsed: used ? now : (known?.lastUsed ?? 0),
    });
  }
  return after;
}
