import type { PodUid } from "../../lib/model/pod.ts";

/** Listeners for changes of single pods. */
export class PodListeners {
  readonly #listeners = new Map<PodUid, Set<() => void>>();

  listen(uid: PodUid, listener: () => void): () => void {
    const all = this.#listeners.get(uid) ?? new Set();
    this.#listeners.set(uid, all.add(listener));
    return () => {
      all.delete(listener);
      if (all.size === 0 && this.#listeners.get(uid) === all) this.#listeners.delete(uid);
    };
  }

  notify(uid: PodUid): void {
    for (const listener of [...(this.#listeners.get(uid) ?? [])]) listener();
  }
}
