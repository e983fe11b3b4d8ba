import type { Clock } from "../../../lib/base/clock.ts";
import type { Component } from "../../../lib/base/component.ts";
import { messageOf, orNotFound } from "../../../lib/base/errors.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import type { Pod, PodUid } from "../../../lib/model/pod.ts";
import type { ObjectOf } from "./api-object.ts";
import { AskedObjects, type ObjectApi } from "./asked-objects.ts";
import { CachedObjects } from "./cached-objects.ts";
import type { ObjectChange, ObjectStore } from "./object-store.ts";
import type { ObjectKind } from "./objects-of.ts";
import { References } from "./references.ts";
import { WatchedObjects } from "./watched-objects.ts";

export type ChangeDetection = "Watch" | "Cache" | "Get";

export interface PodObjectsOptions {
  api: ObjectApi;
  strategy: ChangeDetection;
  clock: Clock;
  logger: Logger;
  /** Cache: how long an answer is good for, if the node's object says so (annotation node.alpha.kubernetes.io/ttl). */
  ttlMs?: () => number | undefined;
  /** Watch: how often pods are looked at again (syncFrequency). A watch that is not asked for 5 times as long may end. */
  resyncMs?: number;
  /** Watch: how long a look waits for the first list of its object. */
  firstListMs?: number;
}

export type ObjectListener = (change: ObjectChange) => void;

const defaultResyncMs = 60_000;
const defaultFirstListMs = 5000;
const idleAtLeastMs = 60_000;

/** The secrets and config maps that the pods of this node refer to, and no others. */
export class PodObjects implements Component {
  readonly name = "pod-objects";
  readonly #o: PodObjectsOptions;
  readonly #references = new References();
  readonly #store: ObjectStore;
  readonly #listeners = new Set<ObjectListener>();

  constructor(options: PodObjectsOptions) {
    this.#o = options;
    this.#store = this.#storeFor(options);
  }

  get done(): Promise<void> {
    return Promise.resolve(this.#store.done).then(() => {});
  }

  async start(signal: AbortSignal): Promise<void> {
    this.#store.start?.(signal);
  }

  /** Before anything of the pod is asked for, and again when its spec changes. Does not wait for anything. */
  register(pod: Pod): void {
    const { added, dropped } = this.#references.register(pod);
    for (const ref of added) this.#store.refer(ref);
    for (const ref of dropped) this.#store.drop(ref);
  }

  /** When nothing of the pod is left. */
  unregister(pod: { metadata: { uid: PodUid } }): void {
    for (const ref of this.#references.unregister(pod.metadata.uid)) this.#store.drop(ref);
  }

  /** Fails with an error of status 404 (`httpStatusOf`) if there is no such object. */
  get<K extends ObjectKind>(
    kind: K,
    namespace: string,
    name: string,
    signal: AbortSignal,
  ): Promise<ObjectOf<K>> {
    return this.#store.get({ kind, namespace, name }, signal) as Promise<ObjectOf<K>>;
  }

  /** The same, for those to whom no object is an answer, too. */
  find<K extends ObjectKind>(
    kind: K,
    namespace: string,
    name: string,
    signal: AbortSignal,
  ): Promise<ObjectOf<K> | undefined> {
    return orNotFound(this.get(kind, namespace, name, signal));
  }

  /** Tells each change that is noticed: at once with Watch, at the next look with Cache, never with Get. */
  onChange(listener: ObjectListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #storeFor(options: PodObjectsOptions): ObjectStore {
    const { strategy, api, clock, logger, ttlMs, resyncMs = defaultResyncMs } = options;
    const onChange = (change: ObjectChange) => this.#tell(change);
    switch (strategy) {
      case "Get":
        return new AskedObjects(api);
      case "Cache":
        return new CachedObjects({ api, clock, ttlMs, onChange });
      case "Watch":
        return new WatchedObjects({
          api,
          clock,
          logger,
          onChange,
          firstListMs: options.firstListMs ?? defaultFirstListMs,
          idleMs: Math.max(5 * resyncMs, idleAtLeastMs),
          isLive: (key) => this.#references.isLive(key),
        });
      default:
        return strategy satisfies never;
    }
  }

  #tell(change: ObjectChange): void {
    for (const listener of [...this.#listeners]) {
      try {
        listener(change);
      } catch (error) {
        const { kind, namespace, name } = change;
        this.#o.logger.error("Listener of pod objects failed", {
          object: `${kind} ${namespace}/${name}`,
          err: messageOf(error),
        });
      }
    }
  }
}
