import type { Pod, PodUid } from "../../../lib/model/pod.ts";
import { encodePod } from "../../../lib/schema/protobuf/encode-pod.ts";
import { PodWatch, type WatchStream } from "./pod-watch.ts";

export interface PodFeedOptions {
  /** The desired pods of this node, with their current status. */
  pods(): readonly Pod[];
  /** A desired pod, or a pod that is still being stopped; undefined while it has no status. */
  pod(uid: PodUid): Pod | undefined;
  onDropped(): void;
}

/** Sends changes of the node's pods to all watches. */
export class PodFeed {
  readonly #o: PodFeedOptions;
  readonly #watches = new Set<PodWatch>();
  /** Terminated pods that are still desired: their changes are no longer reported. */
  readonly #finished = new Set<PodUid>();

  constructor(options: PodFeedOptions) {
    this.#o = options;
  }

  /** The pods by UID. */
  list(): Pod[] {
    return [...this.#o.pods()].sort((a, b) => (a.metadata.uid < b.metadata.uid ? -1 : 1));
  }

  /** Returns a function that ends the watch. */
  watch(stream: WatchStream): () => void {
    const end = () => {
      watch.end();
      this.#watches.delete(watch);
    };
    const watch = new PodWatch(stream, this.list(), () => {
      this.#watches.delete(watch);
      this.#o.onDropped();
    });
    this.#watches.add(watch);
    return end;
  }

  /** Spec, metadata or status of a pod may have changed. */
  changed(uid: PodUid): void {
    if (this.#watches.size === 0 || this.#finished.has(uid)) return;
    const pod = this.#o.pod(uid);
    if (!pod) return;
    let bytes: Uint8Array | undefined;
    const encoded = () => {
      bytes ??= encodePod(pod);
      return bytes;
    };
    for (const watch of [...this.#watches]) watch.set(pod, encoded);
  }

  /** A pod has terminated and was cleaned up. */
  finished(uid: PodUid): void {
    this.#finished.add(uid);
    this.#deleted(uid);
  }

  /** A pod was removed; another may be added with the same UID. */
  forget(uid: PodUid): void {
    this.#finished.delete(uid);
    this.#deleted(uid);
  }

  #deleted(uid: PodUid): void {
    for (const watch of [...this.#watches]) watch.delete(uid);
  }
}
