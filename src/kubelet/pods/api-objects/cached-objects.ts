import { type Clock, msSince } from "../../../lib/base/clock.ts";
import { httpStatusOf } from "../../../lib/base/errors.ts";
import type { MonotonicTime } from "../../../lib/base/time.ts";
import { orAbort } from "../../../lib/clients/kube/deadline.ts";
import { isOlderVersion } from "../../../lib/clients/kube/store.ts";
import { type ApiObject, notRegistered } from "./api-object.ts";
import { askFor, type ObjectApi } from "./asked-objects.ts";
import type { ObjectChange, ObjectStore } from "./object-store.ts";
import { type ObjectRef, refKey } from "./objects-of.ts";

export interface CachedObjectsOptions {
  api: Pick<ObjectApi, "request">;
  clock: Clock;
  /** How long an answer is good for, if the node's object says so. */
  ttlMs?: (() => number | undefined) | undefined;
  onChange: (change: ObjectChange) => void;
}

const defaultTtlMs = 60_000;

/** What the API said last. `missing`: that there is no such object. */
type Answer =
  | { readonly at: MonotonicTime; readonly object: ApiObject }
  | { readonly at: MonotonicTime; readonly missing: unknown };

interface Slot {
  answer?: Answer;
  asking?: Promise<ApiObject>;
}

/** Asks the API at most once in a while for each object; a pod that comes to refer to it makes the next look a fresh one. */
export class CachedObjects implements ObjectStore {
  readonly #o: CachedObjectsOptions;
  readonly #slots = new Map<string, Slot>();

  constructor(options: CachedObjectsOptions) {
    this.#o = options;
  }

  refer(ref: ObjectRef): void {
    // A new slot: a question that is under way may be answered with what was there before the pod.
    this.#slots.set(refKey(ref), {});
  }

  drop(ref: ObjectRef): void {
    this.#slots.delete(refKey(ref));
  }

  async get(ref: ObjectRef, signal: AbortSignal): Promise<ApiObject> {
    const slot = this.#slots.get(refKey(ref));
    if (!slot) throw notRegistered(ref);
    const { answer } = slot;
    if (answer && "object" in answer && this.#isFresh(answer)) return answer.object;
    slot.asking ??= this.#ask(ref, slot).finally(() => {
      slot.asking = undefined;
    });
    return orAbort(slot.asking, signal);
  }

  #isFresh({ at }: Answer): boolean {
    return msSince(this.#o.clock, at) < (this.#o.ttlMs?.() ?? defaultTtlMs);
  }

  async #ask(ref: ObjectRef, slot: Slot): Promise<ApiObject> {
    const { clock } = this.#o;
    const before = slot.answer;
    const known = before && "object" in before ? before.object : undefined;
    try {
      const object = await (known ? this.#askAgain(ref) : this.#askAnew(ref));
      // A server that lags behind must not take back what was told.
      if (known && isOlderVersion(object.metadata.resourceVersion, known.metadata.resourceVersion))
        return known;
      slot.answer = { at: clock.monotonic(), object };
      if (known && known.metadata.resourceVersion !== object.metadata.resourceVersion)
        this.#o.onChange({ ...named(ref), object });
      return object;
    } catch (error) {
      if (httpStatusOf(error) === 404) {
        slot.answer = { at: clock.monotonic(), missing: error };
        if (known) this.#o.onChange(named(ref));
        throw error;
      }
      // The server cannot be asked: what it said last still stands.
      if (known) return known;
      throw before && "missing" in before ? before.missing : error;
    }
  }

  #askAnew(ref: ObjectRef): Promise<ApiObject> {
    return askFor(this.#o.api, ref, { fresh: true });
  }

  /** From the server's memory, which may not have heard of the object yet. */
  async #askAgain(ref: ObjectRef): Promise<ApiObject> {
    try {
      return await askFor(this.#o.api, ref, { fresh: false });
    } catch (error) {
      if (httpStatusOf(error) !== 404) throw error;
      return this.#askAnew(ref);
    }
  }
}

function named({ kind, namespace, name }: ObjectRef): ObjectRef {
  return { kind, namespace, name };
}
