import type { Clock } from "../../../lib/base/clock.ts";
import { type Health, healthy } from "../../../lib/base/component.ts";
import { KubeletError } from "../../../lib/base/errors.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import { ListWatch } from "../../../lib/clients/kube/list-watch.ts";
import { withoutManagedFields } from "../../../lib/clients/kube/list-watch-objects.ts";
import type { ObjectReader } from "../../../lib/clients/kube/store.ts";
import type { KubeTransport } from "../../../lib/clients/kube/transport-interface.ts";
import type { RawObject } from "../../../lib/clients/kube/watch-stream.ts";
import type { Pod } from "../../../lib/model/pod.ts";
import type { PodSource } from "./source.ts";

export interface ApiSourceOptions {
  transport: Pick<KubeTransport, "request" | "stream" | "onBack">;
  nodeName: string;
  /** Pods are asked for when this has resolved: they are judged by what is known of the node. */
  after: Promise<void>;
  clock: Clock;
  logger: Logger;
  /** A pod of the API is another one than before, or gone; told before the new set is. */
  onPod?: (pod: Pod) => void;
}

/**
 * The pods that an API server has bound to this node. It says nothing until its first list is complete; while the server is
 * away, what it said last stands.
 */
export class ApiSource implements PodSource {
  readonly name = "api";
  readonly #o: ApiSourceOptions;
  readonly #watch: ListWatch<Pod>;
  #run: Promise<void> = Promise.resolve();
  #emit: (() => void) | undefined;
  #hasNews = false;

  constructor(options: ApiSourceOptions) {
    const { transport, nodeName, clock, logger, onPod } = options;
    this.#o = options;
    this.#watch = new ListWatch<Pod>({
      name: "pods",
      path: "/api/v1/pods",
      fieldSelector: `spec.nodeName=${nodeName}`,
      transport,
      clock,
      logger,
      transform: asPod,
      onChange: ({ object }) => onPod?.(object),
      onBatch: () => this.#tellSoon(),
      streamList: true,
    });
  }

  /** The pods as the API has them, mirrors of static ones among them. */
  get pods(): ObjectReader<Pod> {
    return this.#watch.store;
  }

  get done(): Promise<void> {
    return this.#run;
  }

  health(): Health {
    return this.#emit ? this.#watch.health() : healthy;
  }

  /** Does not wait for the server: pods of other sources are run without it. */
  async start(signal: AbortSignal, emit: (pods: Pod[]) => void): Promise<void> {
    this.#emit = () => {
      if (!signal.aborted) emit(this.pods.list());
    };
    this.#run = this.#follow(signal);
  }

  async #follow(signal: AbortSignal): Promise<void> {
    const aborted = new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      else signal.addEventListener("abort", () => resolve(), { once: true });
    });
    await Promise.race([this.#o.after, aborted]);
    if (signal.aborted) return;
    this.#o.logger.info("Watching pods of the API server");
    await this.#watch.start(signal);
    await this.#watch.done;
  }

  /** What comes in one turn is told once: the whole set is compared each time. */
  #tellSoon(): void {
    if (this.#hasNews) return;
    this.#hasNews = true;
    setImmediate(() => {
      this.#hasNews = false;
      this.#emit?.();
    });
  }
}

/** The API server has filled in defaults and has checked what it has: only that it is a pod at all is asked here. */
function asPod(raw: RawObject): Pod {
  const { metadata, spec, status } = withoutManagedFields(raw) as Partial<Pod>;
  if (!metadata?.uid || !metadata.namespace || !Array.isArray(spec?.containers))
    throw new KubeletError("ApiPod", "it has no UID, no namespace or no containers");
  return { apiVersion: "v1", kind: "Pod", metadata, spec, ...(status && { status }) };
}
