import type { Clock } from "../../../lib/base/clock.ts";
import type { ImageService, ImageSpecInit, PodSandboxConfigInit } from "../../../lib/clients/cri/cri.ts";
import type { Image } from "../../../lib/gen/runtime/v1/api_pb.js";
import type { Pod } from "../../../lib/model/pod.ts";
import type { RuntimeHandlers } from "../../pipeline/pod-runtime/runtime-handlers.ts";
import type { PullCredentials } from "./pull-credentials.ts";
import { pullOutcome } from "./pull-error.ts";
import { type Pulled, Puller, type PullerOptions, type PullWait } from "./puller.ts";
import type { PullRecords } from "./records/pull-records.ts";
import { SharedPulls } from "./shared-pulls.ts";
import type { TrackedCredential } from "./tracked-credential.ts";

export interface ImagePullsOptions {
  images: Pick<ImageService, "imageStatus" | "pullImage">;
  clock: Clock;
  /** maxParallelImagePulls. */
  parallelPulls: number;
  pullsPerSecond: number;
  pullBurst: number;
  /** Credentials in the order to try; without this, pulls are anonymous. */
  credentials?: Pick<PullCredentials, "credentials">;
  /** Which images were pulled with which credentials. Without it (KubeletEnsureSecretPulledImages is off) every pod may use all. */
  records?: Pick<PullRecords, "recordPullIntent" | "recordImagePulled" | "recordPullEnded" | "mustPull">;
  /** The runtime handlers to pull for, if the runtime stores images by handler. */
  handlers?: Pick<RuntimeHandlers, "of"> | undefined;
  /** Pulls images of a pod before its containers need them, and runs equal pulls once. */
  prefetch?: boolean;
  /** Watches how far the pulls are. */
  progress?: PullerOptions["progress"];
}

/** An image that a pod needs, as the pod names it (`requestedImage`) and for the runtime (`spec`). */
export interface WantedImage {
  readonly pod: Pod;
  readonly requestedImage: string;
  readonly spec: ImageSpecInit & { readonly image: string };
  /** Looked up at the first call. */
  readonly credentials: () => Promise<readonly TrackedCredential[]>;
}

export interface PulledImage {
  readonly ref: string;
  /** Without waiting. */
  readonly tookMs: number;
  /** The image after the pull. Fails if the runtime cannot report it. */
  readonly image: Promise<Image | undefined>;
}

interface PullOptions {
  readonly sandbox: PodSandboxConfigInit;
  readonly signal: AbortSignal;
  readonly onPull: (wait: PullWait) => void;
}

/** Finds images in the runtime and pulls them, within the limits of the node, and records who may use them. */
export class ImagePulls {
  readonly #o: ImagePullsOptions;
  readonly #puller: Puller;
  readonly #shared = new SharedPulls<PullWait, PulledImage>();

  constructor(options: ImagePullsOptions) {
    this.#o = options;
    this.#puller = new Puller(options);
  }

  wanted(pod: Pod, requestedImage: string, image: string, signal: AbortSignal): WantedImage {
    const { credentials, handlers } = this.#o;
    return {
      pod,
      requestedImage,
      spec: { image, annotations: pod.metadata.annotations, runtimeHandler: handlers?.of(pod) },
      credentials: once(async () => (await credentials?.credentials(pod, image, signal)) ?? []),
    };
  }

  async find({ spec }: WantedImage, signal: AbortSignal): Promise<Image | undefined> {
    const found = await this.#o.images.imageStatus(spec, { signal });
    return found?.id ? found : undefined;
  }

  /** Whether the pod has to pull an image that is present, to prove that it may use it. */
  async mustPull(
    { requestedImage, credentials }: WantedImage,
    { id }: Image,
    options?: { readonly isCounted: boolean },
  ): Promise<boolean> {
    const present = { image: requestedImage, imageRef: id };
    return (await this.#o.records?.mustPull(present, credentials, options)) ?? false;
  }

  /** Equal for pulls with the same result: of the same image, for the same kind of sandbox, with the same credentials. */
  async variantOf({ pod, requestedImage, spec, credentials }: WantedImage): Promise<string> {
    const { namespace } = pod.metadata;
    return JSON.stringify([
      requestedImage,
      namespace,
      spec.runtimeHandler,
      spec.annotations,
      await credentials(),
    ]);
  }

  async pull(wanted: WantedImage, options: PullOptions): Promise<PulledImage> {
    const { onPull, signal } = options;
    using tracked = this.#o.progress?.wanted(wanted.pod, wanted.spec.image);
    const reportWait = (wait: PullWait) => {
      tracked?.waits(wait);
      onPull(wait);
    };
    const work = (signal: AbortSignal, onPull: (wait: PullWait) => void) =>
      this.#pull(wanted, { ...options, signal, onPull });
    if (!this.#o.prefetch) return await work(signal, reportWait);
    return await this.#run(wanted, await this.variantOf(wanted), { ...options, onPull: reportWait }, work);
  }

  /**
   * Pulls when no container waits for a pull, unless the image is being pulled already. `onStart` gets the pull when it starts.
   * Resolves when nothing is left to do.
   */
  async prefetch(
    wanted: WantedImage,
    options: PullOptions & {
      readonly mayPull: () => boolean;
      readonly onStart: (pull: Promise<PulledImage>, variant: string) => void;
    },
  ): Promise<void> {
    const { signal, mayPull, onStart } = options;
    const variant = await this.variantOf(wanted);
    const isNeeded = () => mayPull() && !this.#shared.isRunning(wanted.spec.image);
    await this.#puller.whenIdle(signal, isNeeded, async () => {
      // The slot is held until the pull ends, also if it goes on for others only.
      const { promise: ended, resolve } = Promise.withResolvers<void>();
      const work = (signal: AbortSignal, onPull: (wait: PullWait) => void) =>
        this.#pull(wanted, { ...options, signal, onPull, isAdmitted: true }).finally(resolve);
      using _tracked = this.#o.progress?.wanted(wanted.pod, wanted.spec.image);
      onStart(this.#run(wanted, variant, options, work), variant);
      await ended;
    });
  }

  #run(
    { spec: { image } }: WantedImage,
    variant: string,
    { signal, onPull }: PullOptions,
    work: (signal: AbortSignal, onPull: (wait: PullWait) => void) => Promise<PulledImage>,
  ): Promise<PulledImage> {
    return this.#shared.run({ image, variant, signal, onWait: onPull, busy: "queue", work });
  }

  async #pull(
    wanted: WantedImage,
    options: PullOptions & { readonly isAdmitted?: boolean },
  ): Promise<PulledImage> {
    const { records } = this.#o;
    const { requestedImage, spec } = wanted;
    const { sandbox, signal, onPull, isAdmitted } = options;
    let intentRecorded = false;
    const beforePull = async () => {
      await records?.recordPullIntent(requestedImage);
      intentRecorded = true;
    };
    let pulled: Pulled;
    try {
      const credentials = await wanted.credentials();
      const request = { image: spec, sandbox, credentials, signal, onPull, beforePull };
      pulled = isAdmitted ? await this.#puller.pullNow(request) : await this.#puller.pull(request);
    } catch (error) {
      if (intentRecorded) await records?.recordPullEnded(requestedImage, pullOutcome(error));
      throw error;
    }
    const { ref, credential, tookMs } = pulled;
    const image = this.find(wanted, signal);
    const id = await image.then(
      (found) => found?.id,
      () => undefined,
    );
    await records?.recordImagePulled({ image: requestedImage, imageRef: id ?? ref }, credential);
    return { ref, tookMs, image };
  }
}

function once<T>(work: () => Promise<T>): () => Promise<T> {
  let done: Promise<T> | undefined;
  return () => {
    done ??= work();
    return done;
  };
}
