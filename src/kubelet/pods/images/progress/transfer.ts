import { type MonotonicTime, msBetween } from "../../../../lib/base/time.ts";
import type { PullProgress } from "../../../../lib/model/pull-progress.ts";

/** The blobs of an image at one moment. */
export interface ContentSample {
  /** Bytes of the image. */
  readonly total: number;
  /** Bytes that were present before the pull. */
  readonly present: number;
  /** Bytes that the pull has received; less than before if a download begins again. */
  readonly received: number;
  readonly layers: { readonly done: number; readonly total: number };
}

/** The rate is that of this time: long enough for a steady number, short enough to follow the network. */
const windowMs = 10_000;
const stalledMs = 30_000;
/** Fewer bytes are the configuration of the image, or the first ones of a connection: they have no rate. */
const minWindowBytes = 64 * 1024;

type Measured = Pick<PullProgress, "state" | "bytes" | "layers" | "bytesPerSecond" | "leftMs" | "idleMs">;

/** The progress of one pull, computed from samples. Bytes never go back, also if a download begins again. */
export class Transfer {
  readonly #startedAt: MonotonicTime;
  #window: { readonly at: MonotonicTime; readonly received: number }[] = [];
  #last: ContentSample | undefined;
  #received = 0;
  #doneLayers = 0;
  /** When the content store was last read, and when a byte had arrived since the time before. */
  #readAt: MonotonicTime;
  #activeAt: MonotonicTime;

  constructor(startedAt: MonotonicTime) {
    this.#startedAt = startedAt;
    this.#readAt = startedAt;
    this.#activeAt = startedAt;
  }

  /** Undefined: the runtime does not have the manifest of the image yet. */
  add(at: MonotonicTime, sample: ContentSample | undefined): void {
    this.#readAt = at;
    if (!sample) return;
    if (sample.received !== (this.#last?.received ?? 0)) this.#activeAt = at;
    this.#last = sample;
    this.#received = Math.max(this.#received, sample.received);
    this.#doneLayers = Math.max(this.#doneLayers, sample.layers.done);
    this.#window.push({ at, received: this.#received });
    const isOld = (next: MonotonicTime | undefined) => next && msBetween(next, at) >= windowMs;
    // One sample that is older than the window remains: its start.
    while (isOld(this.#window[1]?.at)) this.#window.shift();
  }

  progress(): Measured {
    const idleMs = msBetween(this.#activeAt, this.#readAt);
    const isStalled = idleMs >= stalledMs;
    if (!this.#last) {
      const state = isStalled ? "stalled" : "connecting";
      return { state, bytes: null, layers: null, bytesPerSecond: null, leftMs: null, idleMs };
    }
    const { total, present, layers } = this.#last;
    const done = Math.min(total, present + this.#received);
    const isComplete = done === total;
    const hasBegun = this.#received > 0 || present > 0;
    const bytesPerSecond = this.#rate();
    return {
      state: isComplete ? "unpacking" : isStalled ? "stalled" : hasBegun ? "pulling" : "connecting",
      bytes: { done, total },
      layers: { done: this.#doneLayers, total: layers.total },
      bytesPerSecond,
      leftMs: isComplete ? 0 : bytesPerSecond ? ((total - done) / bytesPerSecond) * 1000 : null,
      idleMs: isComplete ? null : idleMs,
    };
  }

  get startedAt(): MonotonicTime {
    return this.#startedAt;
  }

  #rate(): number | null {
    const [first, last] = [this.#window[0], this.#window.at(-1)];
    if (!first || !last || first === last) return null;
    if (last.received - first.received < minWindowBytes) return null;
    return ((last.received - first.received) / msBetween(first.at, last.at)) * 1000;
  }
}
