import { statfs } from "node:fs/promises";
import type { Clock } from "../../../lib/base/clock.ts";
import type { Component } from "../../../lib/base/component.ts";
import { ConcurrencyLimiter } from "../../../lib/base/concurrency-limiter.ts";
import { isAbort, KubeletError, messageOf } from "../../../lib/base/errors.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import type { Metrics } from "../../../lib/base/metrics.ts";
import { runPeriodically } from "../../../lib/base/run-periodically.ts";
import type { MonotonicTime } from "../../../lib/base/time.ts";
import type { Tracer } from "../../../lib/base/tracing/tracer.ts";
import type { ImageService } from "../../../lib/clients/cri/cri.ts";
import { formatDuration } from "../../../lib/config/duration.ts";
import type { NodeEvents } from "../../../lib/model/pod-events.ts";
import {
  type DiskSpace,
  evictionOrder,
  formatBytes,
  type ImageGcPolicy,
  oldEnough,
  shortageOf,
  unusedTooLong,
} from "./image-plan.ts";
import { type ImageRecord, recordKey, updateRecords } from "./image-records.ts";
import { findUsedImages, type ImageUsageSource } from "./image-usage.ts";

export interface ImageGcOptions {
  images: Pick<ImageService, "listImages" | "removeImage" | "imageFsInfo" | "imageStatus">;
  runtime: ImageUsageSource["runtime"];
  prefetched?: ImageUsageSource["prefetched"];
  policy: ImageGcPolicy;
  /** RuntimeClassInImageCriApi: each runtime handler has its own images, which are used and removed independently. */
  byRuntimeHandler?: boolean;
  clock: Clock;
  logger: Logger;
  events: Pick<NodeEvents, "warning">;
  metrics: Metrics;
  tracer?: Tracer | undefined;
  /** The space on the filesystem of this path. */
  spaceAt?: (path: string) => Promise<DiskSpace>;
}

const everyMs = 5 * 60_000;

/** Removes unused images: when the disk gets full, and when they were not used for too long. */
export class ImageGc implements Component {
  readonly name = "image-gc";
  readonly #o: ImageGcOptions;
  /** Records must not change during a removal. */
  readonly #limiter = new ConcurrencyLimiter(1);
  readonly #removed;
  #records = new Map<string, ImageRecord>();
  #startedAt: MonotonicTime;
  #failedBefore = false;
  #loop: Promise<void> = Promise.resolve();

  constructor(options: ImageGcOptions) {
    this.#o = options;
    this.#startedAt = options.clock.monotonic();
    this.#removed = options.metrics.counter({
      name: "kubelet_image_garbage_collected_total",
      help: "Total number of images garbage collected by the kubelet, whether through disk usage or image age.",
      labels: ["reason"],
    });
  }

  get done(): Promise<void> {
    return this.#loop;
  }

  async start(signal: AbortSignal): Promise<void> {
    const { clock, policy } = this.#o;
    this.#startedAt = clock.monotonic();
    // Even then images are tracked: deleteUnused must know which are old.
    const isDisabled = policy.highPercent === 100 && policy.maxAgeMs === 0;
    const collectOnce = async () => {
      if (isDisabled) await this.#exclusively(() => this.#detectImages(signal), signal);
      else await this.collect(signal);
      this.#failedBefore = false;
    };
    this.#loop = runPeriodically(collectOnce, {
      clock,
      everyMs,
      signal,
      onError: (error) => this.#failed(error),
    });
  }

  #failed(error: unknown): void {
    const { logger, events } = this.#o;
    logger.warn("Image garbage collection failed", { err: messageOf(error) });
    // A single failure is not an event: the runtime may be starting.
    if (this.#failedBefore) events.warning("ImageGCFailed", messageOf(error));
    this.#failedBefore = true;
  }

  /** Removes images that were unused for too long, then as many as the disk needs. Fails if that was not enough. */
  collect(signal?: AbortSignal): Promise<void> {
    const { tracer } = this.#o;
    const work = () => this.#exclusively(() => this.#collect(signal), signal);
    return tracer ? tracer.run("Images/GarbageCollect", {}, work) : work();
  }

  /** Removes all unused images except new ones. Resolves with the freed bytes. */
  deleteUnused(signal?: AbortSignal): Promise<number> {
    return this.#exclusively(async () => {
      const now = this.#o.clock.monotonic();
      const order = evictionOrder(await this.#detectImages(signal));
      return this.#free(oldEnough(order, this.#o.policy, now), Number.POSITIVE_INFINITY, signal);
    }, signal);
  }

  #exclusively<T>(work: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    return this.#limiter.run(work, { signal });
  }

  async #detectImages(signal: AbortSignal | undefined): Promise<Iterable<ImageRecord>> {
    const { images, clock, byRuntimeHandler, events } = this.#o;
    // Images first: one that comes into use in between is then considered used.
    const list = await images.listImages({ signal });
    const isUsed = await findUsedImages(this.#o, signal);
    this.#records = updateRecords(this.#records, list, isUsed, clock.monotonic(), byRuntimeHandler);
    if (!byRuntimeHandler) return this.#records.values();
    const records = [...this.#records.values()];
    for (const record of records)
      if (record.id === "" && !record.used && !record.pinned)
        events.warning("InvalidImageID", `ImageID is not valid, skipping, image: ${recordKey(record)}`);
    return records.filter(({ id }) => id !== "");
  }

  async #collect(signal: AbortSignal | undefined): Promise<void> {
    const { policy, clock, events, logger } = this.#o;
    const order = evictionOrder(await this.#detectImages(signal));
    const now = clock.monotonic();
    const expired = unusedTooLong(order, policy, { now, startedAt: this.#startedAt });
    await this.#freeOld(expired, signal);
    const space = await this.#space(signal);
    const shortage = shortageOf(space, policy);
    if (!shortage) return;
    const { usedPercent, bytesToFree } = shortage;
    logger.info("Image filesystem usage is over the threshold, removing unused images", {
      usedPercent,
      bytesToFree,
      highPercent: policy.highPercent,
      lowPercent: policy.lowPercent,
    });
    const left = order.filter((image) => !expired.includes(image));
    const freed = await this.#free(oldEnough(left, policy, now), bytesToFree, signal);
    if (freed >= bytesToFree) return;
    const message =
      `Insufficient free disk space on the node's image filesystem (${usedPercent}% of ${formatBytes(space.capacity)} used). ` +
      `Failed to free sufficient space by deleting unused images (freed ${freed} bytes). ` +
      "Investigate disk usage, as it could be used by active images, logs, volumes, or other data.";
    events.warning("FreeDiskSpaceFailed", message);
    throw new KubeletError("FreeDiskSpaceFailed", message);
  }

  async #space(signal: AbortSignal | undefined): Promise<DiskSpace> {
    const { images, events, spaceAt = statfsSpace } = this.#o;
    const { imageFilesystems } = await images.imageFsInfo({ signal });
    const path = imageFilesystems[0]?.fsId?.mountpoint;
    if (!path) throw new KubeletError("ImageFs", "the runtime reports no image filesystem");
    const space = await spaceAt(path);
    if (space.capacity > 0) return space;
    const message = "invalid capacity 0 on image filesystem";
    events.warning("InvalidDiskCapacity", message);
    throw new KubeletError("InvalidDiskCapacity", message);
  }

  async #freeOld(images: readonly ImageRecord[], signal: AbortSignal | undefined): Promise<void> {
    const { failures } = await this.#remove(images, "age", Number.POSITIVE_INFINITY, signal);
    if (failures.length === 0) return;
    const age = formatDuration(this.#o.policy.maxAgeMs);
    const message = `wanted to free images older than ${age}, encountered errors in image deletion: ${failures.join("; ")}`;
    throw new KubeletError("ImageGC", message);
  }

  async #free(
    images: readonly ImageRecord[],
    bytesToFree: number,
    signal: AbortSignal | undefined,
  ): Promise<number> {
    const { freed, failures } = await this.#remove(images, "space", bytesToFree, signal);
    if (failures.length === 0) return freed;
    const target = Number.isFinite(bytesToFree) ? `${bytesToFree} bytes` : "all unused images";
    const message = `wanted to free ${target}, but freed ${freed} bytes space with errors in image deletion: ${failures.join("; ")}`;
    throw new KubeletError("ImageGC", message);
  }

  /** Removes one at a time until enough is freed. An image that cannot be removed does not block the others. */
  async #remove(
    candidates: readonly ImageRecord[],
    reason: "age" | "space",
    bytesToFree: number,
    signal: AbortSignal | undefined,
  ): Promise<{ freed: number; failures: string[] }> {
    const { images, logger } = this.#o;
    const failures: string[] = [];
    let freed = 0;
    for (const image of candidates) {
      const { id, size, runtimeHandler } = image;
      if (freed >= bytesToFree) break;
      signal?.throwIfAborted();
      try {
        await images.removeImage({ image: id, runtimeHandler }, { signal });
      } catch (error) {
        if (isAbort(error)) throw error;
        failures.push(`${id}: ${messageOf(error)}`);
        continue;
      }
      logger.info("Removed image", { image: id, size, reason, runtimeHandler });
      this.#records.delete(recordKey(image));
      this.#removed.inc({ reason });
      freed += size;
    }
    return { freed, failures };
  }
}

async function statfsSpace(path: string): Promise<DiskSpace> {
  const { bsize, blocks, bavail } = await statfs(path);
  return { capacity: blocks * bsize, available: bavail * bsize };
}
