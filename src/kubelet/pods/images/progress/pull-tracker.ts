import { type Clock, msSince, sleep } from "../../../../lib/base/clock.ts";
import { isAbort, messageOf } from "../../../../lib/base/errors.ts";
import type { Logger } from "../../../../lib/base/logger.ts";
import type { Metrics } from "../../../../lib/base/metrics.ts";
import { type MonotonicTime, msBetween } from "../../../../lib/base/time.ts";
import type { ContentStore } from "../../../../lib/clients/containerd/content-store.ts";
import { hasGrpcCode } from "../../../../lib/clients/cri/cri-error.ts";
import type { Pod, PodUid } from "../../../../lib/model/pod.ts";
import type { PodEvents } from "../../../../lib/model/pod-events.ts";
import {
  type PullProgress,
  type PullState,
  pullDetail,
  pullText,
} from "../../../../lib/model/pull-progress.ts";
import { repositoryOf } from "../image-name.ts";
import type { PullWait } from "../puller.ts";
import { ImageContent, type Ingests } from "./image-content.ts";
import { pullMetrics } from "./pull-metrics.ts";
import { Transfer } from "./transfer.ts";

export interface PullTrackerOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** A connection to the content store of the runtime, which the tracker closes. Undefined unless the runtime is containerd. */
  readonly openContent: () => ContentStore | undefined;
  /** The bytes that the node has received so far; undefined if that cannot be read. */
  readonly receivedBytes: () => Promise<number | undefined>;
  /** The pull that the pod waits for has progressed. */
  readonly onProgress: (uid: PodUid) => void;
  /** For an event a minute about a pull that takes longer; undefined: none. */
  readonly events: PodEvents | undefined;
}

/** A pod that needs an image: until it is disposed of. */
export interface TrackedPod extends Disposable {
  waits(wait: PullWait): void;
}

interface Wanted {
  readonly pod: Pod;
  readonly image: string;
  readonly since: MonotonicTime;
  wait: PullWait;
  reportedAt: MonotonicTime;
}

/** A pull in the runtime. */
interface Running {
  readonly image: string;
  readonly startedAt: MonotonicTime;
  readonly content: ImageContent;
  readonly transfer: Transfer;
  /** When its manifest was last looked for. */
  lookedAt: MonotonicTime | undefined;
  /** How many calls pull the image. */
  calls: number;
}

/** Pulls that take less are not looked at. */
const firstPauseMs = 500;
const pauseMs = 1000;
/** In a pull of a minute, 2 seconds are 3 % of the bytes. */
const longPauseMs = 2000;
const longPullMs = 60_000;
const reportEveryMs = 60_000;

/**
 * How far the pulls of the node are. While the runtime pulls, the tracker reads the content store of containerd every second or two: one call
 * for all pulls, and one for each layer that may have become complete. With other runtimes it only measures what the node receives. It has no timers and
 * no connection while nothing is pulled.
 */
export class PullTracker {
  readonly #o: PullTrackerOptions;
  readonly #wanted = new Set<Wanted>();
  readonly #running = new Map<string, Running>();
  #stop = new AbortController();
  /** Undefined: the runtime does not report its pulls. */
  #content: ContentStore | undefined;
  #network: { readonly at: MonotonicTime; readonly bytes: number; readonly rate: number | null } | undefined;

  constructor(options: PullTrackerOptions) {
    this.#o = options;
    pullMetrics(options.metrics, () => this.#all());
  }

  /** A pod needs an image, which is pulled or waits to be. */
  wanted(pod: Pod, image: string): TrackedPod {
    const now = this.#o.clock.monotonic();
    const wanted: Wanted = { pod, image, since: now, wait: "queue", reportedAt: now };
    this.#wanted.add(wanted);
    return {
      waits: (wait) => {
        wanted.wait = wait;
      },
      [Symbol.dispose]: () => void this.#wanted.delete(wanted),
    };
  }

  /** The runtime pulls an image, until the result is disposed of. */
  pulling(image: string): Disposable {
    const { clock } = this.#o;
    const now = clock.monotonic();
    const running = this.#running.get(image) ?? {
      image,
      startedAt: now,
      content: new ImageContent(image, clock.wall()),
      transfer: new Transfer(now),
      lookedAt: undefined,
      calls: 0,
    };
    running.calls++;
    this.#running.set(image, running);
    if (this.#running.size === 1 && running.calls === 1) void this.#watch();
    return {
      [Symbol.dispose]: () => {
        if (--running.calls > 0) return;
        this.#running.delete(image);
        if (this.#running.size === 0) this.#stop.abort();
      },
    };
  }

  /** The pulls that a pod waits for, or that run for it early. */
  ofPod(uid: PodUid): PullProgress[] {
    const byImage = new Map<string, Wanted>();
    for (const wanted of this.#wanted) if (wanted.pod.metadata.uid === uid) byImage.set(wanted.image, wanted);
    return [...byImage.values()].map((wanted) => this.#progress(wanted.image, wanted));
  }

  #all(): PullProgress[] {
    const byImage = new Map<string, Wanted | undefined>(
      [...this.#running.keys()].map((image) => [image, undefined]),
    );
    for (const wanted of this.#wanted) byImage.set(wanted.image, wanted);
    return [...byImage].map(([image, wanted]) => this.#progress(image, wanted));
  }

  #progress(image: string, wanted: Wanted | undefined): PullProgress {
    const { clock } = this.#o;
    const running = this.#running.get(image);
    const since = running?.startedAt ?? wanted?.since ?? clock.monotonic();
    const base = {
      image,
      registry: repositoryOf(image)?.split("/", 1)[0] ?? "",
      elapsedMs: Math.round(msSince(clock, since)),
      networkBytesPerSecond: null,
    };
    if (running && this.#content) return { ...base, ...running.transfer.progress() };
    const unknown = { bytes: null, layers: null, bytesPerSecond: null, leftMs: null, idleMs: null };
    const state = running ? "pulling" : stateOf(wanted?.wait ?? "pull");
    return {
      ...base,
      ...unknown,
      state,
      networkBytesPerSecond: running ? (this.#network?.rate ?? null) : null,
    };
  }

  /** Runs while the runtime pulls. */
  async #watch(): Promise<void> {
    const { clock, openContent } = this.#o;
    this.#stop = new AbortController();
    const { signal } = this.#stop;
    const content = openContent();
    this.#content = content;
    this.#network = undefined;
    try {
      await sleep(clock, firstPauseMs, signal);
      for (;;) {
        await this.#look(signal);
        for (const { pod, image } of this.#wanted)
          if (this.#running.has(image)) this.#o.onProgress(pod.metadata.uid);
        this.#report();
        await sleep(clock, this.#pauseMs(), signal);
      }
    } catch (error) {
      if (isAbort(error)) return;
      this.#o.logger.error("Failed to watch image pulls, their progress is not known", {
        err: messageOf(error),
      });
    } finally {
      content?.close();
    }
  }

  /** The newest pull decides: the bytes of a short time are more of it. */
  #pauseMs(): number {
    const ages = [...this.#running.values()].map(({ startedAt }) => msSince(this.#o.clock, startedAt));
    return Math.min(...ages) < longPullMs ? pauseMs : longPauseMs;
  }

  async #look(signal: AbortSignal): Promise<void> {
    try {
      if (this.#content) await this.#readContent(this.#content, signal);
      else await this.#readNetwork();
    } catch (error) {
      if (signal.aborted) throw error;
      this.#o.logger.debug(2, "Failed to read the progress of image pulls", { err: messageOf(error) });
      // Another error may pass.
      if (hasGrpcCode(error, "UNIMPLEMENTED") || hasGrpcCode(error, "PERMISSION_DENIED"))
        this.#content = undefined;
    }
  }

  async #readContent(store: ContentStore, signal: AbortSignal): Promise<void> {
    const { clock } = this.#o;
    const at = clock.monotonic();
    const ingests = new Map((await store.ingests(signal)).map(({ digest, bytes }) => [digest, bytes]));
    for (const running of [...this.#running.values()]) {
      await this.#findManifest(running, store, ingests, signal);
      running.transfer.add(at, await running.content.sample(store, ingests, signal));
    }
  }

  /** At once while a blob is downloaded that belongs to no known image, else less and less often: the registry does not respond. */
  async #findManifest(
    running: Running,
    store: ContentStore,
    ingests: Ingests,
    signal: AbortSignal,
  ): Promise<void> {
    const { clock } = this.#o;
    if (running.content.manifest !== undefined) return;
    const known = [...this.#running.values()].map(({ content }) => content);
    const isOfUnknown = [...ingests.keys()].some((digest) => !known.some((content) => content.has(digest)));
    const pause = Math.max(pauseMs, msSince(clock, running.startedAt) / 4);
    const isDue = running.lookedAt === undefined || msSince(clock, running.lookedAt) >= pause;
    if (!isOfUnknown && !isDue) return;
    running.lookedAt = clock.monotonic();
    const taken = new Set(known.flatMap(({ manifest }) => manifest ?? []));
    await running.content.findManifest(store, ingests, taken, signal);
  }

  async #readNetwork(): Promise<void> {
    const { clock, receivedBytes } = this.#o;
    const bytes = await receivedBytes();
    if (bytes === undefined) return;
    const at = clock.monotonic();
    const before = this.#network;
    const ms = before ? msBetween(before.at, at) : 0;
    const rate = before && ms > 0 ? (Math.max(0, bytes - before.bytes) / ms) * 1000 : null;
    this.#network = { at, bytes, rate };
  }

  #report(): void {
    const { clock, events } = this.#o;
    if (!events) return;
    for (const wanted of this.#wanted) {
      if (!this.#running.has(wanted.image) || msSince(clock, wanted.reportedAt) < reportEveryMs) continue;
      wanted.reportedAt = clock.monotonic();
      const progress = this.#progress(wanted.image, wanted);
      const text = [pullText(progress), pullDetail(progress)].filter(Boolean).join("; ");
      events.normal(wanted.pod, "PullProgress", text);
    }
  }
}

function stateOf(wait: PullWait): PullState {
  switch (wait) {
    case "queue":
      return "queued";
    case "rate":
      return "rate-limited";
    case "pull":
      return "connecting";
    default:
      return wait satisfies never;
  }
}
