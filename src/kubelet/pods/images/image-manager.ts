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
import type { RuntimeHandlers } from "../../pipeline/pod-runtime/runtime-handlers.ts";
import { type EnsureOutcome, type ImageMetrics, imageMetrics } from "./image-metrics.ts";
import { withDefaultTag } from "./image-name.ts";
import type { PullCredentials } from "./pull-credentials.ts";
import { pullFailure, pullOutcome } from "./pull-error.ts";
import { type Pulled, Puller, type PullWait } from "./puller.ts";
import type { PullRecords } from "./records/pull-records.ts";
import type { TrackedCredential } from "./tracked-credential.ts";

export interface ImageManagerOptions {
  images: Pick<ImageService, "imageStatus" | "pullImage">;
  clock: Clock;
  /** maxParallelImagePulls. */
  parallelPulls: number;
  pullsPerSecond: number;
  pullBurst: number;
  events: PodEvents;
  /** Credentials in the order to try; without this, pulls are anonymous. */
  credentials?: Pick<PullCredentials, "credentials">;
  /** Which images were pulled with which credentials. Without it (KubeletEnsureSecretPulledImages is off) every pod may use all. */
  records?: Pick<PullRecords, "recordPullIntent" | "recordImagePulled" | "recordPullEnded" | "mustPull">;
  /** The runtime handlers to pull for, if the runtime stores images by handler. */
  handlers?: Pick<RuntimeHandlers, "of"> | undefined;
  metrics?: Metrics;
}

export interface EnsureOptions {
  signal: AbortSignal;
  /** Called each time a pull starts to wait for something, with a description of it. */
  onPull: (waitsFor: string) => void;
}

/** The consumer of an image: a container, or a volume of the pod, which has no name here. */
export type ImageConsumer = Pick<Container, "image" | "imagePullPolicy"> & { name?: string };

/** One request for an image: as the pod names it (`requestedImage`) and for the runtime (`spec`). */
interface ImageRequest extends EnsureOptions {
  pod: Pod;
  container: ImageConsumer;
  requestedImage: string;
  spec: ImageSpecInit & { image: string };
  sandbox: PodSandboxConfigInit;
  /** Looked up at the first call. */
  credentials: () => Promise<readonly TrackedCredential[]>;
}

/** Ensures that the image of a container is present before the container is created, according to its pull policy. */
export class ImageManager {
  readonly #o: ImageManagerOptions;
  readonly #puller: Puller;
  readonly #metrics: ImageMetrics;
  readonly #backoff = new Backoff({ initialMs: 10_000, maxMs: 300_000, resetMs: 600_000 });
  /** The last pull error by pod and image, reported again during the back-off. */
  #lastErrors = new Map<string, string>();

  constructor(options: ImageManagerOptions) {
    this.#o = options;
    this.#puller = new Puller(options);
    this.#metrics = imageMetrics(options.metrics ?? createMetrics());
  }

  /** Resolves with the image to run. Fails with a KubeletError whose code is the reason in the container status. */
  async ensure(
    pod: Pod,
    container: ImageConsumer,
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
    const { image } = named;
    const spec = {
      image,
      annotations: pod.metadata.annotations,
      runtimeHandler: this.#o.handlers?.of(pod),
    };
    const credentials = once(
      async () => (await this.#o.credentials?.credentials(pod, image, options.signal)) ?? [],
    );
    const request: ImageRequest = { pod, container, requestedImage, spec, sandbox, credentials, ...options };
    if (container.imagePullPolicy !== "Always") {
      const found = await this.#find(request);
      outcome.present = found !== undefined;
      if (found && !(await records?.mustPull({ image: requestedImage, imageRef: found.id }, credentials))) {
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
    outcome.pullRequired = true;
    return this.#pull(request);
  }

  async #find({ pod, container, spec, signal }: ImageRequest): Promise<Image | undefined> {
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

  async #pull(request: ImageRequest): Promise<EnsuredImage> {
    const { clock, events } = this.#o;
    const { pod, container, requestedImage } = request;
    const key = `${pod.metadata.uid}_${requestedImage}`;
    this.#checkBackoff(request, key);
    const credentials = await request.credentials();
    const startedAt = clock.monotonic();
    const { ref, credential, tookMs } = await this.#pullNow(request, key, credentials);
    const withWaitMs = msSince(clock, startedAt);
    let image: Image | undefined;
    try {
      image = await this.#find(request);
    } finally {
      await this.#o.records?.recordImagePulled(
        { image: requestedImage, imageRef: image?.id ?? ref },
        credential,
      );
    }
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

  async #pullNow(
    request: ImageRequest,
    key: string,
    credentials: readonly TrackedCredential[],
  ): Promise<Pulled> {
    const { pod, container, requestedImage, spec, sandbox, signal } = request;
    this.#o.events.normal(pod, "Pulling", `Pulling image "${requestedImage}"`, container.name);
    const onPull = (wait: PullWait) => request.onPull(waitText(requestedImage, wait));
    let intentRecorded = false;
    const beforePull = async () => {
      await this.#o.records?.recordPullIntent(requestedImage);
      intentRecorded = true;
    };
    try {
      const pulled = await this.#puller.pull({
        image: spec,
        sandbox,
        credentials,
        signal,
        onPull,
        beforePull,
      });
      this.#backoff.succeeded(key);
      this.#lastErrors.delete(key);
      return pulled;
    } catch (error) {
      if (intentRecorded) await this.#o.records?.recordPullEnded(requestedImage, pullOutcome(error));
      throw isAbort(error) ? error : this.#failed(request, key, error);
    }
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
    // Without retryAt: the next sync, soon, reports the back-off until it ends.
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
