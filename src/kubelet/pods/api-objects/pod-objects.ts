import type { Clock } from "../../../lib/base/clock.ts";
import type { Component } from "../../../lib/base/component.ts";
import { messageOf, orNotFound } from "../../../lib/base/errors.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import type { Pod, PodUid } from "../../../lib/model/pod.ts";
import type { ObjectOf } from "./api-object.ts";
import { CachedObjects } from "./cached-objects.ts";
import type { ObjectChange, ObjectStore } from "./object-store.ts";
import type { ObjectKind } from "./objects-of.ts";
import { References } from "./references.ts";
import { type ObjectApi, UncachedObjects } from "./uncached-objects.ts";
import { WatchedObjects } from "./watched-objects.ts";

export type ChangeDetection = "Watch" | "Cache" | "Get";

export interface PodObjectsOptions {
  api: ObjectApi;
  strategy: ChangeDetection;
  clock: Clock;
  logger: Logger;
  /** Cache: how long a response is valid, if the Node object specifies it (annotation node.alpha.kubernetes.io/ttl). */
  ttlMs?: () => number | undefined;
  /** Watch: syncFrequency. A watch whose object was not requested for 5 times as long may be stopped. */
  resyncMs?: number;
  /** Watch: how long `get` waits for the first list of its object. */
  firstListMs?: number;
}

export type ObjectListener = (change: ObjectChange) => void;

const defaultResyncMs = 60_000;
const defaultFirstListMs = 5000;
const idleAtLeastMs = 60_000;

/** The Secrets and ConfigMaps that the pods of this node refer to, and no others. */
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

  /** Call before the first `get` for the pod, and again when its spec changes. Does not block. */
  register(pod: Pod): void {
    const { added, dropped } = this.#references.register(pod);
    for (const ref of added) this.#store.addReference(ref);
    for (const ref of dropped) this.#store.drop(ref);
  }

  /** Call when the pod is gone. */
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

  /** Like `get`, but undefined if the object does not exist. */
  find<K extends ObjectKind>(
    kind: K,
    namespace: string,
    name: string,
    signal: AbortSignal,
  ): Promise<ObjectOf<K> | undefined> {
    return orNotFound(this.get(kind, namespace, name, signal));
  }

  /** Reports observed changes: immediately with Watch, at the next `get` with Cache, never with Get. */
  onChange(listener: ObjectListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #storeFor(options: PodObjectsOptions): ObjectStore {
    const { strategy, api, clock, logger, ttlMs, resyncMs = defaultResyncMs } = options;
    const onChange = (change: ObjectChange) => this.#notify(change);
    switch (strategy) {
      case "Get":
        return new UncachedObjects(api);
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

  #notify(change: ObjectChange): void {
    for (const listener of [...this.#listeners]) {
      try {
        listener(change);
      } catch (error) {
        const { kind, namespace, name } = change;
        this.#o.logger.error("Failed to notify listener of object change", {
          object: `${kind} ${namespace}/${name}`,
          err: messageOf(error),
        });
      }
    }
  }
}
