import type { MonotonicTime } from "../../../lib/base/time.ts";
import type { Image } from "../../../lib/gen/runtime/v1/api_pb.js";

/** An image and when it was seen and used. */
export interface ImageRecord {
  readonly id: string;
  /** The runtime handler that it is stored for, if the runtime stores images by handler and the gate is on. */
  readonly runtimeHandler?: string | undefined;
  readonly size: number;
  readonly pinned: boolean;
  readonly used: boolean;
  readonly firstSeen: MonotonicTime;
  /** Undefined if it was not in use since the agent started. */
  readonly lastUsed: MonotonicTime | undefined;
}

/** The records after another listing, without the records of removed images. */
export function updateRecords(
  before: ReadonlyMap<string, ImageRecord>,
  images: Iterable<Image>,
  isUsed: (image: Image) => boolean,
  now: MonotonicTime,
  byRuntimeHandler = false,
): Map<string, ImageRecord> {
  const after = new Map<string, ImageRecord>();
  for (const image of images) {
    const runtimeHandler = (byRuntimeHandler && image.spec?.runtimeHandler) || undefined;
    const key = recordKey({ id: image.id, runtimeHandler });
    const known = before.get(key);
    const used = isUsed(image);
    after.set(key, {
      id: image.id,
      ...(runtimeHandler !== undefined && { runtimeHandler }),
      size: Number(image.size),
      pinned: image.pinned,
      used,
      firstSeen: known?.firstSeen ?? now,
      lastUsed: used ? now : known?.lastUsed,
    });
  }
  return after;
}

export function recordKey({ id, runtimeHandler }: Pick<ImageRecord, "id" | "runtimeHandler">): string {
  return runtimeHandler === undefined ? id : `${id},${runtimeHandler}`;
}
