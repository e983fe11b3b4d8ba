import { abortable, whenAborted } from "../../lib/base/abort.ts";
import { type Clock, sleep } from "../../lib/base/clock.ts";
import { type Component, type Health, healthy } from "../../lib/base/component.ts";
import { isAbort, messageOf } from "../../lib/base/errors.ts";
import { Listeners } from "../../lib/base/listeners.ts";
import type { Logger } from "../../lib/base/logger.ts";
import type { ObjectRef, Objects } from "../definition.ts";
import type { ApiObject } from "../storage/object.ts";

export interface ObjectCacheOptions {
  readonly objects: Pick<Objects, "list" | "listAndWatch">;
  readonly resources: readonly string[];
  readonly clock: Clock;
  readonly logger: Logger;
}

const retryMs = 1_000;
const recheckMs = 100;

/** A cache of some resources, shared by all controllers and updated by watches. */
export class ObjectCache implements Component {
  readonly name = "object-cache";
  readonly #options: ObjectCacheOptions;
  readonly #objects = new Map<string, Map<string, ApiObject>>();
  /** The newest version that was received, by resource. */
  readonly #newest = new Map<string, number>();
  readonly #listeners = new Listeners<[resource: string]>();
  readonly #done = Promise.withResolvers<void>();
  #failure: string | undefined;

  constructor(options: ObjectCacheOptions) {
    this.#options = options;
    for (const resource of options.resources) this.#objects.set(resource, new Map());
  }

  get done(): Promise<void> {
    return this.#done.promise;
  }

  health(): Health {
    return this.#failure === undefined ? healthy : { ok: false, reason: this.#failure };
  }

  /** Resolves when the cache has all objects that existed when it was started. */
  async start(signal: AbortSignal): Promise<void> {
    const { resources } = this.#options;
    const loops = resources.map((resource) => this.#watch(resource, signal));
    void Promise.all(loops).then(() => this.#done.resolve());
    await Promise.all(resources.map((resource) => this.#complete(resource, signal)));
  }

  all(resource: string): ApiObject[] {
    return [...this.#of(resource).values()];
  }

  get({ resource, namespace, name }: ObjectRef): ApiObject | undefined {
    return this.#of(resource).get(`${namespace}/${name}`);
  }

  /** Adds an object that a controller has just written, so that it does not write it again before the watch delivers it. */
  record(resource: string, object: ApiObject | undefined): void {
    if (object === undefined || versionOf(object) <= (this.#newest.get(resource) ?? 0)) return;
    this.#of(resource).set(keyOf(object), object);
  }

  /** Calls back after each change, until the signal is aborted. */
  subscribe(listener: (resource: string) => void, signal: AbortSignal): void {
    whenAborted(signal, this.#listeners.add(listener));
  }

  #of(resource: string): Map<string, ApiObject> {
    const objects = this.#objects.get(resource);
    if (objects === undefined) throw new Error(`${resource} are not cached`);
    return objects;
  }

  async #watch(resource: string, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        for await (const { type, object } of this.#options.objects.listAndWatch(resource, signal))
          this.#apply(resource, type, object);
      } catch (error) {
        if (signal.aborted || isAbort(error)) return;
        this.#failure = `${resource}: ${messageOf(error)}`;
        this.#options.logger.warn("Failed to watch objects", { resource, err: messageOf(error) });
      }
      if (!signal.aborted) await sleep(this.#options.clock, retryMs, signal).catch(() => {});
    }
  }

  #apply(resource: string, type: string, object: ApiObject): void {
    this.#failure = undefined;
    const objects = this.#of(resource);
    const version = versionOf(object);
    const known = objects.get(keyOf(object));
    if (type === "DELETED") {
      if (known === undefined || known.metadata.uid === object.metadata.uid) objects.delete(keyOf(object));
    } else if (known === undefined || versionOf(known) <= version) objects.set(keyOf(object), object);
    this.#newest.set(resource, Math.max(version, this.#newest.get(resource) ?? 0));
    this.#listeners.notify(resource);
  }

  /** A watch does not mark the end of its initial objects: it is complete when all objects of a list have arrived. */
  async #complete(resource: string, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const listed = await this.#options.objects.list(resource);
      const missing = () => listed.some((object) => !this.#of(resource).has(keyOf(object)));
      if (!missing()) return;
      await this.#changed(signal);
      if (!missing()) return;
    }
  }

  #changed(signal: AbortSignal): Promise<void> {
    return abortable(signal, (resolve) => {
      const remove = this.#listeners.add(() => resolve());
      const cancel = this.#options.clock.after(recheckMs, resolve);
      return () => {
        cancel();
        remove();
      };
    }).catch(() => {});
  }
}

function keyOf({ metadata }: ApiObject): string {
  return `${metadata.namespace ?? ""}/${metadata.name}`;
}

function versionOf({ metadata }: ApiObject): number {
  return Number(metadata.resourceVersion ?? 0);
}
