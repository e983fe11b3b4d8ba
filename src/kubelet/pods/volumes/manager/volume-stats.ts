import { type Clock, msSince } from "../../../../lib/base/clock.ts";
import type { MonotonicTime, WallTime } from "../../../../lib/base/time.ts";
import { deadline, endsWithin } from "../../../../lib/base/wait.ts";
import { deviceBytes } from "../../../../lib/host/device-size.ts";
import {
  type Counted,
  type DiskUsage,
  diskUsage,
  type FilesystemSpace,
  filesystemSpace,
} from "../../../../lib/host/disk-usage.ts";
import type { HangGuard } from "../../../../lib/host/hang-guard.ts";
import type { Mounts } from "../../../../lib/host/mounts.ts";
import type { PodUid } from "../../../../lib/model/pod.ts";
import type { VolumeUsage } from "../volume-plugin.ts";
import type { MountedVolume } from "./volume-manager.ts";
import { driverOf } from "./volume-metrics.ts";

export interface VolumeStatsOptions {
  readonly clock: Clock;
  readonly mountedVolumes: (uid: PodUid) => readonly MountedVolume[];
  readonly mounts: Pick<Mounts, "at">;
  readonly guard: Pick<HangGuard, "run">;
  /** How old the stats may be (volumeStatsAggPeriod); undefined: volumes are not measured. */
  readonly maxAgeMs: number | undefined;
  readonly measured?: (source: string, seconds: number) => void;
  /** By default the files in the directory are counted. */
  readonly diskUsage?: typeof diskUsage;
  /** A volume was measured and is not healthy. */
  readonly onAbnormal?: (uid: PodUid, volume: string, message: string) => void;
}

export interface VolumeStat extends VolumeUsage {
  readonly name: string;
  readonly claim: { readonly namespace: string; readonly name: string } | undefined;
  /** Milliseconds since the epoch. */
  readonly time: WallTime;
}

interface Cached {
  readonly at: MonotonicTime;
  readonly stats: Promise<readonly VolumeStat[]>;
}

/** Files that are being counted. */
interface Walk {
  readonly space: FilesystemSpace;
  readonly counted: Counted;
}

/** For a volume that does not respond in time the last known stats are returned; a late response is used for the next call. */
const responseTimeoutMs = 1_000;
const pluginTimeoutMs = 30_000;

/**
 * Usage and capacity of volumes, cached, and measured without a child process. A volume that hangs blocks neither the other volumes
 * of its pod nor the caller.
 */
export class VolumeStats {
  readonly #o: VolumeStatsOptions;
  readonly #cache = new Map<PodUid, Cached>();
  readonly #known = new Map<PodUid, Map<string, VolumeStat>>();
  /** Directories that are being measured, by a call that may hang. */
  readonly #running = new Set<string>();
  readonly #walks = new Map<string, Walk>();

  constructor(options: VolumeStatsOptions) {
    this.#o = options;
  }

  /** The stats of all volumes of the pod; those that cannot be measured are omitted. */
  stats(uid: PodUid): Promise<readonly VolumeStat[]> {
    const { maxAgeMs } = this.#o;
    // No entry for a pod without volumes: no change would remove it.
    if (maxAgeMs === undefined || this.#o.mountedVolumes(uid).length === 0) return Promise.resolve([]);
    const known = this.#cache.get(uid);
    if (known && msSince(this.#o.clock, known.at) < maxAgeMs) return known.stats;
    const at = this.#o.clock.monotonic();
    const stats = this.#measure(uid, this.#o.clock.wall());
    this.#cache.set(uid, { at, stats });
    return stats;
  }

  /** The number of cached pods. */
  get size(): number {
    return Math.max(this.#cache.size, this.#known.size);
  }

  delete(uid: PodUid): void {
    this.#cache.delete(uid);
    this.#known.delete(uid);
  }

  async #measure(uid: PodUid, time: WallTime): Promise<readonly VolumeStat[]> {
    const known = this.#known.get(uid) ?? new Map<string, VolumeStat>();
    this.#known.set(uid, known);
    const all = await Promise.all(
      this.#o.mountedVolumes(uid).map(async (volume) => {
        const { name, dir } = volume;
        const claim = volume.spec.persistent?.claim.name ? volume.spec.persistent.claim : undefined;
        const last = () => this.#atLeast(dir, known.get(name), { name, claim, time });
        if (this.#running.has(dir)) return last();
        this.#running.add(dir);
        const measuring = this.#usage(uid, volume)
          .catch(() => undefined)
          .then((usage) => {
            this.#running.delete(dir);
            this.#walks.delete(dir);
            if (usage) known.set(name, { ...usage, name, claim, time });
            else known.delete(name);
            if (usage?.healthy === false) this.#o.onAbnormal?.(uid, name, usage.message ?? "");
          });
        await endsWithin(this.#o.clock, responseTimeoutMs, measuring);
        return last();
      }),
    );
    return all.filter((stat) => stat !== undefined);
  }

  /**
   * The last known stats, or what is counted so far if that is more: a container that never lets a count end would hide its usage, and
   * another pod would be evicted.
   */
  #atLeast(
    dir: string,
    last: VolumeStat | undefined,
    about: Pick<VolumeStat, "name" | "claim" | "time">,
  ): VolumeStat | undefined {
    const walk = this.#walks.get(dir);
    if (!walk) return last;
    const usedBytes = Math.max(last?.usedBytes ?? 0, walk.counted.bytes);
    const inodesUsed = Math.max(last?.inodesUsed ?? 0, walk.counted.inodes);
    return { ...walk.space, ...last, ...about, usedBytes, inodesUsed };
  }

  async #usage(uid: PodUid, volume: MountedVolume): Promise<VolumeUsage | undefined> {
    const { plugin, spec, path, dir, volumeMode } = volume;
    const { guard, mounts } = this.#o;
    if (plugin.stats)
      return this.#timed(driverOf(spec) ?? plugin.name, async () => {
        using limit = deadline(this.#o.clock, pluginTimeoutMs);
        return await plugin.stats!({ podUid: uid, dir }, spec, limit.signal);
      });
    // The content of a device is not known, only its size.
    if (volumeMode === "Block")
      return this.#timed("block", async () => ({ capacityBytes: await deviceBytes(path) }));
    // hostPath and images belong to the node.
    if (plugin.hasDir === false) return undefined;
    if (await mounts.at(path))
      return this.#timed("statfs", () => guard.run(path, () => filesystemSpace(path)));
    return this.#timed("du", async () => {
      const { bytes, inodes: inodesUsed } = (await plugin.usage?.(dir)) ?? (await this.#count(dir, path));
      return { ...(await filesystemSpace(path)), usedBytes: bytes, inodesUsed };
    });
  }

  async #count(dir: string, path: string): Promise<DiskUsage> {
    const counted = { bytes: 0, inodes: 0 };
    this.#walks.set(dir, { space: await filesystemSpace(path), counted });
    return await (this.#o.diskUsage ?? diskUsage)(path, { counted });
  }

  async #timed<T>(source: string, work: () => Promise<T>): Promise<T> {
    const startedAt = this.#o.clock.monotonic();
    try {
      return await work();
    } finally {
      this.#o.measured?.(source, msSince(this.#o.clock, startedAt) / 1000);
    }
  }
}
