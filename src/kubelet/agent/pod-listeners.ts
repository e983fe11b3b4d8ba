import { Listeners } from "../../lib/base/listeners.ts";
import type { PodUid } from "../../lib/model/pod.ts";

/** Listeners for changes of single pods. */
export class PodListeners {
  readonly #listeners = new Map<PodUid, Listeners>();

  listen(uid: PodUid, listener: () => void): () => void {
    const all = this.#listeners.get(uid) ?? new Listeners();
    this.#listeners.set(uid, all);
    const remove = all.add(listener);
    return () => {
      remove();
      if (all.size === 0 && this.#listeners.get(uid) === all) this.#listeners.delete(uid);
    };
  }

  notify(uid: PodUid): void {
    this.#listeners.get(uid)?.notify();
  }
}
