import { type Clock, msSince } from "../../../lib/base/clock.ts";
import { ConcurrencyLimiter } from "../../../lib/base/concurrency-limiter.ts";
import { isAbort, KubeletError } from "../../../lib/base/errors.ts";
import { RateLimit } from "../../../lib/base/rate-limit.ts";
import type { ImageService, ImageSpecInit, PodSandboxConfigInit } from "../../../lib/clients/cri/cri.ts";
import type { PullTracker } from "./progress/pull-tracker.ts";
import { pullErrorText } from "./pull-error.ts";
import type { TrackedCredential } from "./tracked-credential.ts";

/** The wait of a pull: for other pulls, the rate limit, or the registry. */
export type PullWait = "queue" | "rate" | "pull";

export interface PullerOptions {
  images: Pick<ImageService, "pullImage">;
  clock: Clock;
  /** Maximum number of parallel pulls; with 1, images are pulled one at a time, in the order of the requests. */
  parallelPulls: number;
  pullsPerSecond: number;
  pullBurst: number;
  progress?: Pick<PullTracker, "pulling" | "wanted"> | undefined;
}

export interface PullRequest {
  image: ImageSpecInit;
  sandbox: PodSandboxConfigInit;
  /** Tried in this order; without any, the runtime pulls anonymously. */
  credentials: readonly TrackedCredential[];
  signal: AbortSignal;
  onPull: (waitsFor: PullWait) => void;
  /** Called before the runtime is called. */
  beforePull?: () => Promise<void>;
}

export interface Pulled {
  ref: string;
  /** The credentials that were accepted, if any were needed. */
  credential: TrackedCredential | undefined;
  /** Without waiting. */
  tookMs: number;
}

/** Calls the runtime to pull, within the limits of parallel pulls and pull rate. */
export class Puller {
  readonly #o: PullerOptions;
  readonly #limiter: ConcurrencyLimiter;
  readonly #rate: RateLimit;

  constructor(options: PullerOptions) {
    this.#o = options;
    this.#limiter = new ConcurrencyLimiter(options.parallelPulls);
    this.#rate = new RateLimit(options.pullsPerSecond, options.pullBurst, options.clock);
  }

  async pull(request: PullRequest): Promise<Pulled> {
    const { signal, onPull } = request;
    onPull("queue");
    return this.#limiter.run(
      async () => {
        onPull("rate");
        await this.#rate.take(signal);
        return this.pullNow(request);
      },
      { signal },
    );
  }

  /** Runs work that pulls with `pullNow`, when a pull may start and no container waits for one. It is skipped if it is no longer needed then. */
  async whenIdle(signal: AbortSignal, isNeeded: () => boolean, work: () => Promise<void>): Promise<void> {
    let isOver = false;
    while (!isOver) {
      await this.#rate.untilAvailable(signal);
      isOver = await this.#limiter.run(
        async () => {
          if (signal.aborted || !isNeeded()) return true;
          if (!this.#rate.tryTake()) return false;
          await work();
          return true;
        },
        { signal, priority: -1 },
      );
    }
  }

  async pullNow(request: PullRequest): Promise<Pulled> {
    request.onPull("pull");
    await request.beforePull?.();
    using _running = this.#o.progress?.pulling(request.image.image ?? "");
    const startedAt = this.#o.clock.monotonic();
    const pulled = await this.#try(request);
    return { ...pulled, tookMs: msSince(this.#o.clock, startedAt) };
  }

  async #try({ image, sandbox, credentials, signal }: PullRequest): Promise<Omit<Pulled, "tookMs">> {
    const errors: unknown[] = [];
    for (const credential of credentials.length > 0 ? credentials : [undefined]) {
      const auth = credential && { username: credential.username, password: credential.password };
      try {
        const ref = await this.#o.images.pullImage(image, auth, sandbox, { signal });
        if (ref) return { ref, credential };
        errors.push(new Error(`imageRef of image "${image.image}" is not set`));
      } catch (error) {
        if (isAbort(error)) throw error;
        errors.push(error);
      }
    }
    throw new KubeletError("ErrImagePull", pullErrorText(errors), { cause: new AggregateError(errors) });
  }
}
