import { create } from "@bufbuild/protobuf";
import { status } from "@grpc/grpc-js";
import {
  EventType,
  type WatchPodsEvent,
  WatchPodsEventSchema,
} from "../../../lib/gen/pods/v1alpha1/api_pb.js";
import type { Pod, PodUid } from "../../../lib/model/pod.ts";
import { encodePod } from "../../../lib/schema/protobuf/encode-pod.ts";

/** Maximum pending events of a client; a slower client loses its watch. */
export const maxPending = 100;

/** The stream to the client of a watch. */
export interface WatchStream {
  write(event: WatchPodsEvent): boolean;
  once(event: "drain", listener: () => void): unknown;
  emit(event: "error", error: { code: status; details: string }): unknown;
}

/** One client's watch. For each pod it sends ADDED, then MODIFIED as often as it changes, then DELETED. */
export class PodWatch {
  readonly #stream: WatchStream;
  readonly #onDropped: () => void;
  /** The initial pods: encoded when the client reads them, and not counted as pending. */
  readonly #initial: Pod[];
  #isSynced = false;
  readonly #pending: WatchPodsEvent[] = [];
  /** Pods that the client knows of. */
  readonly #known = new Map<PodUid, Pod>();
  #blocked = false;
  #closed = false;

  constructor(stream: WatchStream, initial: readonly Pod[], onDropped: () => void) {
    this.#stream = stream;
    this.#onDropped = onDropped;
    this.#initial = [...initial];
    for (const pod of initial) this.#known.set(pod.metadata.uid, pod);
    this.#send();
  }

  /** `encoded`: the same pod, encoded once for all clients. */
  set(pod: Pod, encoded: () => Uint8Array): void {
    const { uid } = pod.metadata;
    const type = this.#known.has(uid) ? EventType.MODIFIED : EventType.ADDED;
    this.#known.set(uid, pod);
    this.#add(create(WatchPodsEventSchema, { type, pod: encoded() }));
  }

  delete(uid: PodUid): void {
    const pod = this.#known.get(uid);
    if (!pod) return;
    this.#known.delete(uid);
    const { name, namespace } = pod.metadata;
    const minimal = encodePod({ metadata: { name, namespace, uid }, spec: {}, status: {} });
    this.#add(create(WatchPodsEventSchema, { type: EventType.DELETED, pod: minimal }));
  }

  end(): void {
    this.#closed = true;
    this.#pending.length = 0;
    this.#initial.length = 0;
  }

  #add(event: WatchPodsEvent): void {
    if (this.#closed) return;
    if (this.#pending.length < maxPending) {
      this.#pending.push(event);
      return this.#send();
    }
    this.end();
    this.#onDropped();
    this.#stream.emit("error", { code: status.RESOURCE_EXHAUSTED, details: "watch client channel closed" });
  }

  #send(): void {
    while (!this.#blocked && !this.#closed) {
      const event = this.#next();
      if (!event) return;
      if (this.#stream.write(event)) continue;
      this.#blocked = true;
      this.#stream.once("drain", () => {
        this.#blocked = false;
        this.#send();
      });
    }
  }

  #next(): WatchPodsEvent | undefined {
    const pod = this.#initial.shift();
    if (pod) return create(WatchPodsEventSchema, { type: EventType.ADDED, pod: encodePod(pod) });
    if (this.#isSynced) return this.#pending.shift();
    this.#isSynced = true;
    return create(WatchPodsEventSchema, { type: EventType.INITIAL_SYNC_COMPLETE });
  }
}
