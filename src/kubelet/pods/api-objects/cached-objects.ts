import { orAbort } from "../../../lib/base/abort.ts";
import { type Clock, msSince } from "../../../lib/base/clock.ts";
import { httpStatusOf } from "../../../lib/base/errors.ts";
import type { MonotonicTime } from "../../../lib/base/time.ts";
import { isOlderVersion } from "../../../lib/clients/kube/store.ts";
import { type ApiObject, notRegistered } from "./api-object.ts";
import type { ObjectChange, ObjectStore } from "./object-store.ts";
import { type ObjectRef, refKey } from "./objects-of.ts";
import { fetchObject, type ObjectApi } from "./uncached-objects.ts";

export interface CachedObjectsOptions {
  api: Pick<ObjectApi, "request">;
  clock: Clock;
  /** How long a response is valid, if the Node object specifies it. */
  ttlMs?: (() => number | undefined) | undefined;
  onChange: (change: ObjectChange) => void;
}

const defaultTtlMs = 60_000;

/** The last response of the API. `missing`: the error if the object does not exist. */
type CachedResponse =
  | { readonly at: MonotonicTime; readonly object: ApiObject }
  | { readonly at: MonotonicTime; readonly missing: unknown };

interface Entry {
  response?: CachedResponse;
  pending?: Promise<ApiObject>;
}

/** Requests each object at most once per TTL; a new reference to an object makes the next `get` fetch the latest version. */
export class CachedObjects implements ObjectStore {
  readonly #o: CachedObjectsOptions;
  readonly #entries = new Map<string, Entry>();

  constructor(options: CachedObjectsOptions) {
    this.#o = options;
  }

  addReference(ref: ObjectRef): void {
    // A new entry: a pending request may return a version that is older than the pod.
    this.#entries.set(refKey(ref), {});
  }

  drop(ref: ObjectRef): void {
    this.#entries.delete(refKey(ref));
  }

  async get(ref: ObjectRef, signal: AbortSignal): Promise<ApiObject> {
    const entry = this.#entries.get(refKey(ref));
    if (!entry) throw notRegistered(ref);
    const { response } = entry;
    if (response && "object" in response && this.#isFresh(response)) return response.object;
    entry.pending ??= this.#refresh(ref, entry).finally(() => {
      entry.pending = undefined;
    });
    return orAbort(entry.pending, signal);
  }

  #isFresh({ at }: CachedResponse): boolean {
    return msSince(this.#o.clock, at) < (this.#o.ttlMs?.() ?? defaultTtlMs);
  }

  async #refresh(ref: ObjectRef, entry: Entry): Promise<ApiObject> {
    const { clock } = this.#o;
    const before = entry.response;
    const known = before && "object" in before ? before.object : undefined;
    try {
      const object = await (known ? this.#fetchCached(ref) : this.#fetchLatest(ref));
      // A watch cache that lags must not replace a newer version.
      if (known && isOlderVersion(object.metadata.resourceVersion, known.metadata.resourceVersion))
        return known;
      entry.response = { at: clock.monotonic(), object };
      if (known && known.metadata.resourceVersion !== object.metadata.resourceVersion)
        this.#o.onChange({ ...named(ref), object });
      return object;
    } catch (error) {
      if (httpStatusOf(error) === 404) {
        entry.response = { at: clock.monotonic(), missing: error };
        if (known) this.#o.onChange(named(ref));
        throw error;
      }
      // While the API server is unreachable, its last response remains valid.
      if (known) return known;
      throw before && "missing" in before ? before.missing : error;
    }
  }

  #fetchLatest(ref: ObjectRef): Promise<ApiObject> {
    return fetchObject(this.#o.api, ref, { fresh: true });
  }

  /** From the API server's watch cache, which may not contain the object yet. */
  async #fetchCached(ref: ObjectRef): Promise<ApiObject> {
    try {
      return await fetchObject(this.#o.api, ref, { fresh: false });
    } catch (error) {
      if (httpStatusOf(error) !== 404) throw error;
      return this.#fetchLatest(ref);
    }
  }
}

function named({ kind, namespace, name }: ObjectRef): ObjectRef {
  return { kind, namespace, name };
}
