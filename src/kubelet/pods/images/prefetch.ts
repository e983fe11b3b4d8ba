import { type Clock, msSince } from "../../../lib/base/clock.ts";
import type { MonotonicTime } from "../../../lib/base/time.ts";
import type { PodSandboxConfigInit } from "../../../lib/clients/cri/cri.ts";
import type { Image } from "../../../lib/gen/runtime/v1/api_pb.js";
import type { Container, Pod, PodUid } from "../../../lib/model/pod.ts";
import type { NodePressure } from "../../state/node-pressure.ts";
import { withDefaultTag } from "./image-name.ts";
import type { ImagePulls, PulledImage } from "./image-pulls.ts";

export interface PrefetchOptions {
  readonly pulls: ImagePulls;
  readonly clock: Clock;
  readonly pressure: Pick<NodePressure, "conditions"> | undefined;
}

export interface EarlyPull {
  readonly result: Promise<PulledImage>;
  readonly variant: string;
  /** The image was present, but the pod had to prove that it may use it. */
  readonly wasPresent: boolean;
}

/** The state of an image when the first container of the pod needs it. */
export interface Prefetched {
  /** The image was present a moment ago. */
  readonly present?: Image;
  /** The pull that runs, or has succeeded. */
  readonly pull?: EarlyPull & { readonly isRunning: boolean };
}

/** An image that was present may have been removed: after this time it is looked up again. */
const presentMs = 2000;

interface Entry {
  /** Ends the wait for a pull. */
  readonly stop: AbortController;
  present?: { readonly image: Image; readonly at: MonotonicTime };
  pull?: EarlyPull;
  /** "over" without a result. */
  state: "waiting" | "pulling" | "pulled" | "over";
  /** The image that must not be removed. */
  imageId?: string;
}

interface PodImages {
  readonly abort: AbortController;
  /** Resolves when nothing is left to do. */
  done: Promise<void>;
  readonly entries: Map<string, Entry>;
}

/**
 * Pulls the images of pods before their containers need them, while volumes are mounted and init containers run. Nothing is reported here:
 * a container requests its image as if it had not been pulled, and reports the pull. A failed pull is forgotten: the start of the container pulls the image again.
 */
export class Prefetch {
  readonly #o: PrefetchOptions;
  readonly #pods = new Map<PodUid, PodImages>();

  constructor(options: PrefetchOptions) {
    this.#o = options;
  }

  /** Starts with the images of a pod; later calls do nothing. */
  start(pod: Pod, sandbox: () => Promise<PodSandboxConfigInit>): void {
    const { uid } = pod.metadata;
    if (this.#pods.has(uid)) return;
    const images: PodImages = { abort: new AbortController(), entries: new Map(), done: Promise.resolve() };
    this.#pods.set(uid, images);
    images.done = this.#pullAll(pod, images, sandbox);
  }

  /** The pod terminates. */
  cancel(uid: PodUid): void {
    const images = this.#pods.get(uid);
    images?.abort.abort();
    images?.entries.clear();
  }

  forget(uid: PodUid): void {
    this.cancel(uid);
    this.#pods.delete(uid);
  }

  /** Cancels all. Resolves when no pull runs. */
  async stop(): Promise<void> {
    for (const uid of this.#pods.keys()) this.cancel(uid);
    await Promise.all([...this.#pods.values()].map(({ done }) => done));
  }

  /** The state of an image that a container needs now. A pull that has not started is canceled: the container takes its turn itself. */
  get(pod: Pod, requestedImage: string): Prefetched | undefined {
    const { entries } = this.#pods.get(pod.metadata.uid) ?? {};
    if (entries) dropUnneeded(entries, pod);
    const entry = entries?.get(requestedImage);
    if (!entry) return undefined;
    if (entry.state === "waiting") entry.stop.abort();
    const { present, pull, state } = entry;
    if (present && msSince(this.#o.clock, present.at) < presentMs) return { present: present.image };
    if (!pull || state === "over") return undefined;
    return { pull: { ...pull, isRunning: state === "pulling" } };
  }

  /** The first container has its image, or its attempt has failed: the next ones query the runtime. */
  used(uid: PodUid, requestedImage: string): void {
    this.#pods.get(uid)?.entries.delete(requestedImage);
  }

  /** The images of pods whose containers have not used them yet: they must not be removed. */
  imagesInUse(): Set<string> {
    const all = [...this.#pods.values()].flatMap(({ entries }) => [...entries.values()]);
    return new Set(all.flatMap(({ imageId }) => imageId ?? []));
  }

  async #pullAll(pod: Pod, images: PodImages, sandbox: () => Promise<PodSandboxConfigInit>): Promise<void> {
    const { initContainers = [], containers } = pod.spec;
    const never = neverPulled(pod);
    const isPulled = ({ image }: Container) => !never.has(fullName(image));
    // In this order, if pulls have to wait for one another.
    for (const stage of [initContainers, containers])
      await Promise.all(
        stage.filter(isPulled).map((container) => this.#prefetch(pod, container, images, sandbox)),
      );
  }

  async #prefetch(
    pod: Pod,
    { image: requestedImage = "", imagePullPolicy }: Container,
    { abort, entries }: PodImages,
    sandbox: () => Promise<PodSandboxConfigInit>,
  ): Promise<void> {
    const named = withDefaultTag(requestedImage);
    if ("problem" in named) return;
    if (abort.signal.aborted || entries.has(requestedImage)) return;
    const entry: Entry = { stop: new AbortController(), state: "waiting" };
    entries.set(requestedImage, entry);
    const signal = AbortSignal.any([abort.signal, entry.stop.signal]);
    try {
      const wanted = this.#o.pulls.wanted(pod, requestedImage, named.image, signal);
      const found = await this.#o.pulls.find(wanted, signal);
      // The registry is queried when the container needs the image: a query before would not count, but use up the pull rate.
      if (found && imagePullPolicy === "Always") {
        entry.state = "over";
        return;
      }
      if (found && !(await this.#o.pulls.mustPull(wanted, found, { isCounted: false }))) {
        entry.present = { image: found, at: this.#o.clock.monotonic() };
        entry.imageId = found.id;
        return;
      }
      const wasPresent = found !== undefined;
      // A pod that is gone must not be assigned resources.
      signal.throwIfAborted();
      await this.#o.pulls.prefetch(wanted, {
        sandbox: await sandbox(),
        signal,
        onPull: () => {},
        mayPull: () => !this.#o.pressure?.conditions.includes("DiskPressure"),
        onStart: (result, variant) => this.#started(entry, { result, variant, wasPresent }),
      });
    } catch {
      // The container tries itself, and reports the failure.
    }
    if (entry.state === "waiting") entry.state = "over";
  }

  #started(entry: Entry, pull: EarlyPull): void {
    entry.pull = pull;
    entry.state = "pulling";
    pull.result.then(
      async ({ image, ref }) => {
        entry.state = "pulled";
        entry.imageId = (await image.catch(() => undefined))?.id ?? ref;
      },
      () => {
        entry.state = "over";
      },
    );
  }
}

/** The image of a container may have changed. */
function dropUnneeded(entries: Map<string, Entry>, { spec: { initContainers = [], containers } }: Pod): void {
  const needed = new Set([...initContainers, ...containers].map(({ image }) => image));
  for (const [image, { stop }] of entries) {
    if (needed.has(image)) continue;
    stop.abort();
    entries.delete(image);
  }
}

/** The full names of images that a container or volume of the pod may use only if they are present. */
function neverPulled({ spec: { initContainers = [], containers, volumes = [] } }: Pod): Set<string> {
  const ofContainers = [...initContainers, ...containers].filter((one) => one.imagePullPolicy === "Never");
  const ofVolumes = volumes.filter(({ image }) => image?.pullPolicy === "Never");
  return new Set([
    ...ofContainers.map(({ image }) => fullName(image)),
    ...ofVolumes.map(({ image }) => fullName(image?.reference)),
  ]);
}

function fullName(image = ""): string {
  const named = withDefaultTag(image);
  return "problem" in named ? image : named.image;
}
