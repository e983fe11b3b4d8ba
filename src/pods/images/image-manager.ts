import { Backoff } from "../../base/backoff.ts";
import type { Clock } from "../../base/clock.ts";
import { isAbort, KubeletError, messageOf } from "../../base/errors.ts";
import { ConcurrencyGate } from "../../base/gate.ts";
import { RateLimit } from "../../base/rate-limit.ts";
import type { ImageService, PodSandboxConfigInit } from "../../clients/cri/cri.ts";
import type { Container, Pod, PodUid } from "../../model/pod.ts";
import type { PodEvents } from "../../model/pod-events.ts";
import { withDefaultTag } from "./image-name.ts";

export interface ImageManagerOptions {
  images: Pick<ImageService, "imageStatus" | "pullImage">;
  clock: Clock;
  /** How many pulls may be under way at once. */
  parallelPulls: number;
  pullsPerSecond: number;
  pullBurst: number;
  events: PodEvents;
}

export interface EnsuredImage {
  /** What to tell the runtime to run. */
  ref: string;
  /** The user that the image names: a number, a name, or neither. */
  user: { uid?: bigint; username?: string };
}

/** Makes sure that the image of a container is there before the container is created, as its pull policy says. */
export class ImageManager {
  readonly #o: ImageManagerOptions;
  readonly #gate: ConcurrencyGate;
  readonly #rate: RateLimit;
  readonly #backoff = new Backoff({ initialMs: 10_000, maxMs: 300_000, resetMs: 600_000 });
  /** What the last pull of an image for a pod failed with, told again while the back-off lasts. */
  #lastErrors = new Map<string, string>();

  constructor(options: ImageManagerOptions) {
    this.#o = options;
    this.#gate = new ConcurrencyGate(options.parallelPulls);
    this.#rate = new RateLimit(options.pullsPerSecond, options.pullBurst, options.clock);
  }

  /** Resolves with the reference to run. Fails with a KubeletError whose code is the reason users know. */
  async ensure(
    pod: Pod,
    container: Container,
    sandbox: PodSandboxConfigInit,
    options: { signal: AbortSignal; onPull: () => void },
  ): Promise<EnsuredImage> {
    const { events } = this.#o;
    const asked = container.image ?? "";
    const image = withDefaultTag(asked);
    if (!image) {
      const message = `Failed to apply default image tag "${asked}": couldn't parse image name "${asked}": invalid reference format`;
      events.warning(pod, "InspectFailed", message);
      throw new KubeletError("InvalidImageName", message);
    }
    const present = await this.#present(pod, image, options.signal);
    if (present && container.imagePullPolicy !== "Always") {
      events.normal(pod, "Pulled", `Container image "${asked}" already present on machine`);
      return present;
    }
    if (container.imagePullPolicy === "Never") {
      const message = `Container image "${asked}" is not present with pull policy of Never`;
      events.warning(pod, "ErrImageNeverPull", message);
      throw new KubeletError("ErrImageNeverPull", message);
    }
    const ref = await this.#pull(pod, image, sandbox, options);
    const pulled = await this.#present(pod, image, options.signal);
    return { ref, user: pulled?.user ?? {} };
  }

  forget(uid: PodUid): void {
    this.#backoff.forget(`${uid}_`);
    for (const key of this.#lastErrors.keys()) if (key.startsWith(`${uid}_`)) this.#lastErrors.delete(key);
  }

  async #present(pod: Pod, image: string, signal: AbortSignal): Promise<EnsuredImage | undefined> {
    try {
      const found = await this.#o.images.imageStatus({ image }, { signal });
      if (!found?.id) return undefined;
      return { ref: found.id, user: { uid: found.uid?.value, username: found.username } };
    } catch (error) {
      if (isAbort(error)) throw error;
      const message = `Failed to inspect image "${image}": ${messageOf(error)}`;
      this.#o.events.warning(pod, "InspectFailed", message);
      throw new KubeletError("ImageInspectError", message, { cause: error });
    }
  }

  async #pull(
    pod: Pod,
    image: string,
    sandbox: PodSandboxConfigInit,
    options: { signal: AbortSignal; onPull: () => void },
  ): Promise<string> {
    const { clock, events, images } = this.#o;
    const { signal } = options;
    const key = `${pod.metadata.uid}_${image}`;
    const readyAt = this.#backoff.readyAt(key);
    if (readyAt !== undefined && readyAt > clock.now()) {
      const message = `Back-off pulling image "${image}"`;
      events.normal(pod, "BackOff", message);
      const last = this.#lastErrors.get(key);
      throw new KubeletError("ImagePullBackOff", last ? `${message}: ErrImagePull: ${last}` : message, {
        retryAt: readyAt,
      });
    }
    options.onPull();
    events.normal(pod, "Pulling", `Pulling image "${image}"`);
    const startedAt = clock.now();
    try {
      const ref = await this.#gate.run(
        async () => {
          await this.#rate.take(signal);
          return images.pullImage({ image, annotations: pod.metadata.annotations }, undefined, sandbox, {
            signal,
          });
        },
        { signal },
      );
      this.#backoff.succeeded(key);
      this.#lastErrors.delete(key);
      const seconds = ((clock.now() - startedAt) / 1000).toFixed(3);
      events.normal(pod, "Pulled", `Successfully pulled image "${image}" in ${seconds}s`);
      return ref;
    } catch (error) {
      if (isAbort(error)) throw error;
      const message = messageOf(error);
      this.#lastErrors.set(key, message);
      this.#backoff.failed(key, clock.now());
      events.warning(pod, "Failed", `Failed to pull image "${image}": ${message}`);
      // Without a time to retry: the next look, soon, finds the back-off and says so until it is over.
      throw new KubeletError("ErrImagePull", message, { cause: error });
    }
  }
}
