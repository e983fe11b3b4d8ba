import { orAbort, whenAborted } from "../../../lib/base/abort.ts";
import { Backoff } from "../../../lib/base/backoff.ts";
import { msSince } from "../../../lib/base/clock.ts";
import type { Component } from "../../../lib/base/component.ts";
import { isAbort, KubeletError, messageOf } from "../../../lib/base/errors.ts";
import { createMetrics, type Metrics } from "../../../lib/base/metrics.ts";
import type { PodSandboxConfigInit } from "../../../lib/clients/cri/cri.ts";
import { formatDuration } from "../../../lib/config/duration.ts";
import type { Image } from "../../../lib/gen/runtime/v1/api_pb.js";
import type { Container, Pod, PodUid } from "../../../lib/model/pod.ts";
import type { PodEvents } from "../../../lib/model/pod-events.ts";
import type { EnsuredImage } from "../../../lib/model/pod-sync.ts";
import { type EnsureOutcome, type ImageMetrics, imageMetrics } from "./image-metrics.ts";
import { withDefaultTag } from "./image-name.ts";
import { ImagePulls, type ImagePullsOptions, type PulledImage, type WantedImage } from "./image-pulls.ts";
import { Prefetch, type Prefetched, type PrefetchOptions } from "./prefetch.ts";
import { pullFailure } from "./pull-error.ts";
import type { PullWait } from "./puller.ts";

export interface ImageManagerOptions extends ImagePullsOptions {
  events: PodEvents;
  metrics?: Metrics;
  pressure?: PrefetchOptions["pressure"];
}

export interface EnsureOptions {
  signal: AbortSignal;
  /** Called each time a pull starts to wait for something, with a description of it. */
  onPull: (waitsFor: string) => void;
}

/** The consumer of an image: a container, or a volume of the pod, which has no name here. */
export type ImageConsumer = Pick<Container, "image" | "imagePullPolicy"> & { name?: string };

/** One request of a container for its image. */
interface ImageRequest extends EnsureOptions {
  pod: Pod;
  container: ImageConsumer;
  requestedImage: string;
  wanted: WantedImage;
  sandbox: PodSandboxConfigInit;
  prefetched: Prefetched | undefined;
}

/** Ensures that the image of a container is present before the container is created, according to its pull policy. */
export class ImageManager implements Component {
  readonly name = "image-manager";
  readonly #o: ImageManagerOptions;
  readonly #pulls: ImagePulls;
  readonly #prefetch: Prefetch | undefined;
  readonly #metrics: ImageMetrics;
  readonly #backoff = new Backoff({ initialMs: 10_000, maxMs: 300_000, resetMs: 600_000 });
  /** The last pull error by pod and image, reported again during the back-off. */
  #lastErrors = new Map<string, string>();
  #done: Promise<void> = Promise.resolve();

  constructor(options: ImageManagerOptions) {
    this.#o = options;
    this.#pulls = new ImagePulls(options);
    const { clock, pressure } = options;
    this.#prefetch = options.prefetch ? new Prefetch({ pulls: this.#pulls, clock, pressure }) : undefined;
    this.#metrics = imageMetrics(options.metrics ?? createMetrics());
  }

  /** No image is pulled early after the signal is aborted. */
  async start(signal: AbortSignal): Promise<void> {
    this.#done = new Promise((resolve) => {
      whenAborted(signal, () => resolve(this.#prefetch?.stop()));
    });
  }

  get done(): Promise<void> {
    return this.#done;
  }

  /** Pulls the images of a pod that starts, before its containers need them. Later calls do nothing. */
  prefetch(pod: Pod, sandbox: () => Promise<PodSandboxConfigInit>): void {
    this.#prefetch?.start(pod, sandbox);
  }

  /** No container of the pod will start. */
  cancelPrefetch(uid: PodUid): void {
    this.#prefetch?.cancel(uid);
  }

  /** The images of pods whose containers have not used them yet: they must not be removed. */
  imagesInUse(): Set<string> {
    return this.#prefetch?.imagesInUse() ?? new Set();
  }

  /** Resolves with the image to run. Fails with a KubeletError whose code is the reason in the container status. */
  async ensure(
    pod: Pod,
    container: ImageConsumer,
    sandbox: PodSandboxConfigInit,
    options: EnsureOptions,
  ): Promise<EnsuredImage> {
    const outcome: EnsureOutcome = { policy: container.imagePullPolicy ?? "" };
    const { uid } = pod.metadata;
    const { image: requestedImage = "" } = container;
    const used = () => usesPulls(container) && this.#prefetch?.used(uid, requestedImage);
    try {
      const image = await this.#ensure(pod, container, sandbox, options, outcome);
      used();
      return image;
    } catch (error) {
      if (!isAbort(error)) used();
      throw error;
    } finally {
      this.#metrics.ensured(outcome);
    }
  }

  forget(uid: PodUid): void {
    this.#prefetch?.forget(uid);
    this.#backoff.forget(`${uid}_`);
    for (const key of this.#lastErrors.keys()) if (key.startsWith(`${uid}_`)) this.#lastErrors.delete(key);
  }

  async #ensure(
    pod: Pod,
    container: ImageConsumer,
    sandbox: PodSandboxConfigInit,
    options: EnsureOptions,
    outcome: EnsureOutcome,
  ): Promise<EnsuredImage> {
    const { events, records } = this.#o;
    const requestedImage = container.image ?? "";
    const named = withDefaultTag(requestedImage);
    if ("problem" in named) {
      const quoted = JSON.stringify(requestedImage);
      const message = `Failed to apply default image tag ${quoted}: couldn't parse image name ${quoted}: ${named.problem}`;
      events.warning(pod, "InspectFailed", message, container.name);
      throw new KubeletError("InvalidImageName", message);
    }
    const wanted = this.#pulls.wanted(pod, requestedImage, named.image, options.signal);
    const prefetched = usesPulls(container) ? this.#prefetch?.get(pod, requestedImage) : undefined;
    const request: ImageRequest = { pod, container, requestedImage, wanted, sandbox, prefetched, ...options };
    // An image that is being pulled for this pod was not present, or could not be used.
    if (container.imagePullPolicy !== "Always" && !prefetched?.pull?.isRunning) {
      const found = prefetched?.present ?? (await this.#find(request));
      const pulled = found && (await this.#pulledBefore(request));
      outcome.present = pulled ? prefetched?.pull?.wasPresent : found !== undefined;
      if (pulled) {
        outcome.pullRequired = true;
        return this.#pull(request, async () => pulled);
      }
      if (found && !(await this.#pulls.mustPull(wanted, found))) {
        outcome.pullRequired = false;
        const access = records ? " and can be accessed by the pod" : "";
        const message = `Container image "${requestedImage}" already present on machine${access}`;
        events.normal(pod, "Pulled", message, container.name);
        return { ref: found.id, user: userOf(found) };
      }
      if (found) outcome.pullRequired = true;
      if (container.imagePullPolicy === "Never") {
        // A pod that may not use an image must not learn that it is present.
        const message = `Container image "${requestedImage}" is not present with pull policy of Never`;
        events.warning(pod, "ErrImageNeverPull", message, container.name);
        throw new KubeletError("ErrImageNeverPull", message);
      }
    }
    if (prefetched?.pull?.isRunning && container.imagePullPolicy !== "Always")
      outcome.present = prefetched.pull.wasPresent;
    outcome.pullRequired = true;
    return this.#pull(request, async () => (await this.#runningPull(request)) ?? this.#pullNow(request));
  }

  async #find(request: ImageRequest): Promise<Image | undefined> {
    try {
      return await this.#pulls.find(request.wanted, request.signal);
    } catch (error) {
      throw this.#inspectFailed(request, error);
    }
  }

  #inspectFailed({ pod, container, wanted }: ImageRequest, error: unknown): unknown {
    if (isAbort(error)) return error;
    const message = `Failed to inspect image "${wanted.spec.image}": ${messageOf(error)}`;
    this.#o.events.warning(pod, "InspectFailed", message, container.name);
    return new KubeletError("ImageInspectError", message, { cause: error });
  }

  /** A pull for this pod that has succeeded, with the credentials that the pod has now. */
  async #pulledBefore({ prefetched, wanted }: ImageRequest): Promise<PulledImage | undefined> {
    const pull = prefetched?.pull;
    if (!pull || pull.variant !== (await this.#pulls.variantOf(wanted))) return undefined;
    return pull.result;
  }

  /** Waits for the pull for this pod if it is running and has the same variant. */
  async #runningPull({ prefetched, wanted, requestedImage, signal, onPull }: ImageRequest) {
    const pull = prefetched?.pull;
    if (!pull?.isRunning || pull.variant !== (await this.#pulls.variantOf(wanted))) return undefined;
    onPull(waitText(requestedImage, "pull"));
    return orAbort(pull.result, signal);
  }

  #pullNow({ wanted, requestedImage, sandbox, signal, onPull }: ImageRequest): Promise<PulledImage> {
    const reportWait = (wait: PullWait) => onPull(waitText(requestedImage, wait));
    return this.#pulls.pull(wanted, { sandbox, signal, onPull: reportWait });
  }

  /** Reports a pull that runs here, or that has already run. */
  async #pull(request: ImageRequest, pull: () => Promise<PulledImage>): Promise<EnsuredImage> {
    const { clock, events } = this.#o;
    const { pod, container, requestedImage } = request;
    const key = `${pod.metadata.uid}_${requestedImage}`;
    this.#checkBackoff(request, key);
    await request.wanted.credentials();
    events.normal(pod, "Pulling", `Pulling image "${requestedImage}"`, container.name);
    const startedAt = clock.monotonic();
    let pulled: PulledImage;
    try {
      pulled = await pull();
    } catch (error) {
      throw isAbort(error) ? error : this.#failed(request, key, error);
    }
    this.#backoff.succeeded(key);
    this.#lastErrors.delete(key);
    const { ref, tookMs } = pulled;
    // A pull that has run before took its time then.
    const withWaitMs = Math.max(tookMs, msSince(clock, startedAt));
    const image = await pulled.image.catch((error) => {
      throw this.#inspectFailed(request, error);
    });
    const size = Number(image?.size ?? 0);
    const took = `${formatDuration(Math.trunc(tookMs))} (${formatDuration(Math.trunc(withWaitMs))} including waiting)`;
    events.normal(
      pod,
      "Pulled",
      `Successfully pulled image "${requestedImage}" in ${took}. Image size: ${size} bytes.`,
      container.name,
    );
    this.#metrics.pulled(size, withWaitMs / 1000);
    return { ref, user: image ? userOf(image) : {} };
  }

  /** Throws while the back-off after a failure lasts. */
  #checkBackoff({ pod, container, requestedImage }: ImageRequest, key: string): void {
    const readyAt = this.#backoff.readyAt(key);
    if (readyAt === undefined || readyAt <= this.#o.clock.monotonic()) return;
    const message = `Back-off pulling image "${requestedImage}"`;
    this.#o.events.normal(pod, "BackOff", message, container.name);
    const last = this.#lastErrors.get(key);
    throw new KubeletError("ImagePullBackOff", last ? `${message}: ${last}` : message, { retryAt: readyAt });
  }

  #failed({ pod, container, requestedImage }: ImageRequest, key: string, error: unknown): KubeletError {
    const text = messageOf(error);
    const { reason, message } = pullFailure(requestedImage, text);
    this.#lastErrors.set(key, `${reason}: ${message}`);
    this.#backoff.failed(key, this.#o.clock.monotonic());
    this.#o.events.warning(
      pod,
      "Failed",
      `Failed to pull image "${requestedImage}": ${text}`,
      container.name,
    );
    // The error has no retryAt, so the next sync follows soon and reports the back-off until it ends.
    return new KubeletError(reason, message, { cause: error });
  }
}

/** True if the container may use a pull. With the policy Never, it uses only an image that is present, even if another container of the pod pulls it. */
function usesPulls({ imagePullPolicy }: ImageConsumer): boolean {
  return imagePullPolicy !== "Never";
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
