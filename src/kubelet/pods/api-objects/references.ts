import type { Pod, PodUid } from "../../../lib/model/pod.ts";
import { type ObjectRef, objectsOf, type PodObjectRef, refKey } from "./objects-of.ts";

export interface ReferenceChanges {
  /** Objects that the pod refers to and did not before. */
  readonly added: readonly ObjectRef[];
  /** Objects that are no longer referenced. */
  readonly dropped: readonly ObjectRef[];
}

/** Which pods refer to which objects. */
export class References {
  readonly #ofPod = new Map<PodUid, Map<string, PodObjectRef>>();
  readonly #podsOf = new Map<string, Set<PodUid>>();

  /** Also for a known pod, whose references may have changed. */
  register(pod: Pod): ReferenceChanges {
    const { uid } = pod.metadata;
    const previous = this.#ofPod.get(uid);
    const refs = new Map(objectsOf(pod).map((ref) => [refKey(ref), ref]));
    const added: ObjectRef[] = [];
    for (const [key, ref] of refs) {
      if (previous?.has(key)) continue;
      added.push(ref);
      const pods = this.#podsOf.get(key);
      if (pods) pods.add(uid);
      else this.#podsOf.set(key, new Set([uid]));
    }
    this.#ofPod.set(uid, refs);
    const lost = [...(previous ?? [])].filter(([key]) => !refs.has(key));
    return { added, dropped: this.#release(uid, lost) };
  }

  /** Returns the objects that are no longer referenced. */
  unregister(uid: PodUid): readonly ObjectRef[] {
    const refs = this.#ofPod.get(uid) ?? [];
    this.#ofPod.delete(uid);
    return this.#release(uid, refs);
  }

  has(key: string): boolean {
    return this.#podsOf.has(key);
  }

  /** True if a change to the object reaches a running pod. */
  isLive(key: string): boolean {
    for (const uid of this.#podsOf.get(key) ?? []) if (this.#ofPod.get(uid)?.get(key)?.live) return true;
    return false;
  }

  #release(uid: PodUid, refs: Iterable<[string, PodObjectRef]>): ObjectRef[] {
    const dropped: ObjectRef[] = [];
    for (const [key, ref] of refs) {
      const pods = this.#podsOf.get(key);
      pods?.delete(uid);
      if (pods?.size !== 0) continue;
      this.#podsOf.delete(key);
      dropped.push(ref);
    }
    return dropped;
  }
}
