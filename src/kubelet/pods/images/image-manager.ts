import { Backoff } from "../../../lib/base/backoff.ts";
import { type Clock, msSince } from "../../../lib/base/clock.ts";
import { isAbort, KubeletError, messageOf } from "../../../lib/base/errors.ts";
import { createMetrics, type Metrics } from "../../../lib/base/metrics.ts";
import type { ImageService, ImageSpecInit, PodSandboxConfigInit } from "../../../lib/clients/cri/cri.ts";
import { formatDuration } from "../../../lib/config/duration.ts";
import type { Image } from "../../../lib/gen/runtime/v1/api_pb.js";
import type { Container, Pod, PodUid } from "../../../lib/model/pod.ts";
import type { PodEvents } from "../../../lib/model/pod-events.ts";
import type { EnsuredImage } from "../../../lib/model/pod-sync.ts";
import { type EnsureOutcome, type ImageMetrics, imageMetrics } from "./image-metrics.ts";
import { withDefaultTag } from "./image-name.ts";
import { pullEnd, pullFailure } from "./pull-error.ts";
import { type Pulled, Puller, type PullWait } from "./puller.ts";
import type { PullRecords } from "./records/pull-records.ts";
import type { TrackedCredential } from "./tracked-credential.ts";

export interface ImageManagerOptions {
  images: Pick<ImageService, "imageStatus" | "pullImage">;
  clock: Clock;
  /** How many pulls may be under way at once. */
  parallelPulls: number;
  pullsPerSecond: number;
  pullBurst: number;
  events: PodEvents;
  /** What to say to the registry, in the order to try; without this, nothing. */
  credentials?: (pod: Pod, image: string, signal: AbortSignal) => Promise<readonly TrackedCredential[]>;
  /** Which images were pulled with what. Without it (KubeletEnsureSecretPulledImages is off) every pod may use any of them. */
  records?: Pick<PullRecords, "begin" | "pulled" | "ended" | "mustPull">;
  /** The runtime handler to pull for, where the runtime keeps images by it. */
  runtimeHandler?: (pod: Pod) => string;
  metrics?: Metrics;
}

export interface EnsureOptions {
  signal: AbortSignal;
  /** Called each time a pull begins to wait for something, with what that is in words. */
  onPull: (waitsFor: string) => void;
}

/** What an image is for: a container, or a volume of the pod, which has no name here. */
export type ImageUser = Pick<Container, "image" | "imagePullPolicy"> & { name?: string };

/** One request for an image: what for, in words (`asked`) and to the runtime (`spec`). */
interface Wish extends EnsureOptions {
  pod: Pod;
  container: ImageUser;
  asked: string;
  spec: ImageSpecInit & { image: string };
  sandbox: PodSandboxConfigInit;
  /** What to say to the registry; looked up when first asked for. */
  credentials: () => Promise<readonly TrackedCredential[]>;
}

/** Makes sure that the image of a container is there before the container is created, as its pull policy says. */
export class ImageManager {
  readonly #o: ImageManagerOptions;
  readonly #puller: Puller;
  readonly #metrics: ImageMetrics;
  readonly #backoff = new Backoff({ initialMs: 10_000, maxMs: 300_000, resetMs: 600_000 });
  /** What the last pull of an image for a pod failed with, told again while the back-off lasts. */
  #lastErrors = new Map<string, string>();

  constructor(options: ImageManagerOptions) {
    this.#o = options;
    this.#puller = new Puller(options);
    this.#metrics = imageMetrics(options.metrics ?? createMetrics());
  }

  /** Resolves with what to run. Fails with a KubeletError whose code is the reason users know. */
  async ensure(
    pod: Pod,
    container: ImageUser,
    sandbox: PodSandboxConfigInit,
    options: EnsureOptions,
  ): Promise<EnsuredImage> {
    const outcome: EnsureOutcome = { policy: container.imagePullPolicy ?? "" };
    try {
      return await this.#ensure(pod, container, sandbox, options, outcome);
    } finally {
      this.#metrics.ensured(outcome);
    }
  }

  forget(uid: PodUid): void {
    this.#backoff.forget(`${uid}_`);
    for (const key of this.#lastErrors.keys()) if (key.startsWith(`${uid}_`)) this.#lastErrors.delete(key);
  }

  async #ensure(
    pod: Pod,
    container: ImageUser,
    sandbox: PodSandboxConfigInit,
    options: EnsureOptions,
    outcome: EnsureOutcome,
  ): Promise<EnsuredImage> {
    const { events, records } = this.#o;
    const asked = container.image ?? "";
    const named = withDefaultTag(asked);
    if ("problem" in named) {
      const quoted = JSON.stringify(asked);
      const message = `Failed to apply default image tag ${quoted}: couldn't parse image name ${quoted}: ${named.problem}`;
      events.warning(pod, "InspectFailed", message, container.name);
      throw new KubeletError("InvalidImageName", message);
    }
    const { image } = named;
    const spec = {
      image,
      annotations: pod.metadata.annotations,
      runtimeHandler: this.#o.runtimeHandler?.(pod),
    };
    const credentials = once(async () => (await this.#o.credentials?.(pod, image, options.signal)) ?? []);
    const wish: Wish = { pod, container, asked, spec, sandbox, credentials, ...options };
    if (container.imagePullPolicy !== "Always") {
      const found = await this.#find(wish);
      outcome.present = found !== undefined;
      if (found && !(await records?.mustPull({ image: asked, imageRef: found.id }, credentials))) {
        outcome.pullRequired = false;
        const access = records ? " and can be accessed by the pod" : "";
        const message = `Container image "${asked}" already present on machine${access}`;
        events.normal(pod, "Pulled", message, container.name);
        return { ref: found.id, user: userOf(found) };
      }
      if (found) outcome.pullRequired = true;
      if (container.imagePullPolicy === "Never") {
        // Who may not use an image is not told that it is here.
        const message = `Container image "${asked}" is not present with pull policy of Never`;
        events.warning(pod, "ErrImageNeverPull", message, container.name);
        throw new KubeletError("ErrImageNeverPull", message);
      }
    }
    outcome.pullRequired = true;
    return this.#pull(wish);
  }

  async #find({ pod, container, spec, signal }: Wish): Promise<Image | undefined> {
    try {
      const found = await this.#o.images.imageStatus(spec, { signal });
      return found?.id ? found : undefined;
    } catch (error) {
      if (isAbort(error)) throw error;
      const message = `Failed to inspect image "${spec.image}": ${messageOf(error)}`;
      this.#o.events.warning(pod, "InspectFailed", message, container.name);
      throw new KubeletError("ImageInspectError", message, { cause: error });
    }
  }

  async #pull(wish: Wish): Promise<EnsuredImage> {
    const { clock, events } = this.#o;
    const { pod, container, asked } = wish;
    const key = `${pod.metadata.uid}_${asked}`;
    this.#holdBack(wish, key);
    const credentials = await wish.credentials();
    const startedAt = clock.monotonic();
    const { ref, credential, tookMs } = await this.#pullNow(wish, key, credentials);
    const withWaitMs = msSince(clock, startedAt);
    let image: Image | undefined;
    try {
      image = await this.#find(wish);
    } finally {
      await this.#o.records?.pulled({ image: asked, imageRef: image?.id ?? ref }, credential);
    }
    const size = Number(image?.size ?? 0);
    const took = `${formatDuration(Math.trunc(tookMs))} (${formatDuration(Math.trunc(withWaitMs))} including waiting)`;
    events.normal(
      pod,
      "Pulled",
      `Successfully pulled image "${asked}" in ${took}. Image size: ${size} bytes.`,
      container.name,
    );
    this.#metrics.pulled(size, withWaitMs / 1000);
    return { ref, user: image ? userOf(image) : {} };
  }

  async #pullNow(wish: Wish, key: string, credentials: readonly TrackedCredential[]): Promise<Pulled> {
    const { pod, container, asked, spec, sandbox, signal } = wish;
    this.#o.events.normal(pod, "Pulling", `Pulling image "${asked}"`, container.name);
    const onPull = (wait: PullWait) => wish.onPull(waitText(asked, wait));
    let begun = false;
    const begin = async () => {
      await this.#o.records?.begin(asked);
      begun = true;
    };
    try {
      const pulled = await this.#puller.pull({ image: spec, sandbox, credentials, signal, onPull, begin });
      this.#backoff.succeeded(key);
      this.#lastErrors.delete(key);
      return pulled;
    } catch (error) {
      if (begun) await this.#o.records?.ended(asked, pullEnd(error));
      throw isAbort(error) ? error : this.#failed(wish, key, error);
    }
  }

  /** Throws while the back-off after a failure lasts. */
  #holdBack({ pod, container, asked }: Wish, key: string): void {
    const readyAt = this.#backoff.readyAt(key);
    if (readyAt === undefined || readyAt <= this.#o.clock.monotonic()) return;
    const message = `Back-off pulling image "${asked}"`;
    this.#o.events.normal(pod, "BackOff", message, container.name);
    const last = this.#lastErrors.get(key);
    throw new KubeletError("ImagePullBackOff", last ? `${message}: ${last}` : message, { retryAt: readyAt });
  }

  #failed({ pod, container, asked }: Wish, key: string, error: unknown): KubeletError {
    const said = messageOf(error);
    const { reason, message } = pullFailure(asked, said);
    this.#lastErrors.set(key, `${reason}: ${message}`);
    this.#backoff.failed(key, this.#o.clock.monotonic());
    this.#o.events.warning(pod, "Failed", `Failed to pull image "${asked}": ${said}`, container.name);
    // Without a time to retry: the next look, soon, finds the back-off and says so until it is over.
    return new KubeletError(reason, message, { cause: error });
  }
}

function once<T>(work: () => Promise<T>): () => Promise<T> {
  let done: Promise<T> | undefined;
  return () => {
    done ??= work();
    return done;
  };
}

function userOf(image: Image): EnsuredImage["user"] {
  return { uid: image.uid?.value, username: image.username };
}

function waitText(image: string, wait: PullWait): string {
  switch (wait) {
    case "queue":
      return `pulling image ${image}: waiting for other pulls`;
    case "rate":
      return `pulling image ${image}: waiting for the pull rate (registryPullQPS)`;
    case "pull":
      return `pulling image ${image}`;
    default:
      return wait satisfies never;
  }
}
