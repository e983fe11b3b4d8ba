import { statfs } from "node:fs/promises";
import type { Clock } from "../../../lib/base/clock.ts";
import type { Component } from "../../../lib/base/component.ts";
import { isAbort, KubeletError, messageOf } from "../../../lib/base/errors.ts";
import { ConcurrencyGate } from "../../../lib/base/gate.ts";
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
import { type ImageRecord, updateRecords } from "./image-records.ts";
import { findUsed, type ImageUsers } from "./image-usage.ts";

export interface ImageGcOptions {
  images: Pick<ImageService, "listImages" | "removeImage" | "imageFsInfo" | "imageStatus">;
  runtime: ImageUsers["runtime"];
  policy: ImageGcPolicy;
  clock: Clock;
  logger: Logger;
  events: Pick<NodeEvents, "warning">;
  metrics: Metrics;
  tracer?: Tracer | undefined;
  /** The room on the filesystem that has this path. */
  spaceAt?: (path: string) => Promise<DiskSpace>;
}

const everyMs = 5 * 60_000;

/** Removes images that nobody uses: when the disk gets full, and when they were not used for too long. */
export class ImageGc implements Component {
  readonly name = "image-gc";
  readonly #o: ImageGcOptions;
  /** Records must not change under one who removes. */
  readonly #turns = new ConcurrencyGate(1);
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
      help: "Images that were removed because of their age or for room on the disk.",
      labels: ["reason"],
    });
  }

  get done(): Promise<void> {
    return this.#loop;
  }

  async start(signal: AbortSignal): Promise<void> {
    const { clock, policy } = this.#o;
    this.#startedAt = clock.monotonic();
    // Even then: whoever wants room later must know which images are old.
    const isOff = policy.highPercent === 100 && policy.maxAgeMs === 0;
    const round = async () => {
      if (isOff) await this.#inTurn(() => this.#look(signal), signal);
      else await this.collect(signal);
      this.#failedBefore = false;
    };
    this.#loop = runPeriodically(round, { clock, everyMs, signal, onError: (error) => this.#failed(error) });
  }

  #failed(error: unknown): void {
    const { logger, events } = this.#o;
    logger.warn("Image garbage collection failed", { err: messageOf(error) });
    // Once is nothing to bother users with: the runtime may be starting.
    if (this.#failedBefore) events.warning("ImageGCFailed", messageOf(error));
    this.#failedBefore = true;
  }

  /** Removes what was not used for too long, and then as much as the disk needs. Fails if that was not enough. */
  collect(signal?: AbortSignal): Promise<void> {
    const { tracer } = this.#o;
    const work = () => this.#inTurn(() => this.#collect(signal), signal);
    return tracer ? tracer.run("Images/GarbageCollect", {}, work) : work();
  }

  /** Removes every image that nobody uses, but for those that just came. Resolves with the bytes they took. */
  deleteUnused(signal?: AbortSignal): Promise<number> {
    return this.#inTurn(async () => {
      const now = this.#o.clock.monotonic();
      const order = evictionOrder(await this.#look(signal));
      return this.#free(oldEnough(order, this.#o.policy, now), Number.POSITIVE_INFINITY, signal);
    }, signal);
  }

  #inTurn<T>(work: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    return this.#turns.run(work, { signal });
  }

  async #look(signal: AbortSignal | undefined): Promise<Iterable<ImageRecord>> {
    const { images, clock } = this.#o;
    // Images first: one that comes into use in between is then seen as used.
    const list = await images.listImages({ signal });
    const isUsed = await findUsed(this.#o, signal);
    this.#records = updateRecords(this.#records, list, isUsed, clock.monotonic());
    return this.#records.values();
  }

  async #collect(signal: AbortSignal | undefined): Promise<void> {
    const { policy, clock, events, logger } = this.#o;
    const order = evictionOrder(await this.#look(signal));
    const now = clock.monotonic();
    const tooOld = unusedTooLong(order, policy, { now, startedAt: this.#startedAt });
    await this.#freeOld(tooOld, signal);
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
    const left = order.filter((image) => !tooOld.includes(image));
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
    if (!path) throw new KubeletError("ImageFs", "the runtime does not say where its images are");
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
    const wanted = Number.isFinite(bytesToFree) ? `${bytesToFree} bytes` : "all unused images";
    const message = `wanted to free ${wanted}, but freed ${freed} bytes space with errors in image deletion: ${failures.join("; ")}`;
    throw new KubeletError("ImageGC", message);
  }

  /** Removes one after the other until enough is freed. One that cannot be removed does not keep the others. */
  async #remove(
    candidates: readonly ImageRecord[],
    reason: "age" | "space",
    bytesToFree: number,
    signal: AbortSignal | undefined,
  ): Promise<{ freed: number; failures: string[] }> {
    const { images, logger } = this.#o;
    const failures: string[] = [];
    let freed = 0;
    for (const { id, size } of candidates) {
      if (freed >= bytesToFree) break;
      signal?.throwIfAborted();
      try {
        await images.removeImage({ image: id }, { signal });
      } catch (error) {
        if (isAbort(error)) throw error;
        failures.push(`${id}: ${messageOf(error)}`);
        continue;
      }
      logger.info("Removed image", { image: id, size, reason });
      this.#records.delete(id);
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
