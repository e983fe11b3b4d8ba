import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  type ContainerEventResponse,
  ContainerEventResponseSchema,
} from "../../src/lib/gen/runtime/v1/api_pb.js";

const MAX_KEPT = 1000;

/** Sends events to all listeners. Like containerd 2, it queues what happens while there are none. */
export class EventFeed {
  readonly #listeners = new Set<(event: ContainerEventResponse) => void>();
  #kept: ContainerEventResponse[] = [];

  get listeners(): number {
    return this.#listeners.size;
  }

  emit(init: MessageInitShape<typeof ContainerEventResponseSchema>): void {
    const event = create(ContainerEventResponseSchema, init);
    if (this.#listeners.size === 0) this.#kept = [...this.#kept, event].slice(-MAX_KEPT);
    for (const listener of this.#listeners) listener(event);
  }

  listen(listener: (event: ContainerEventResponse) => void): () => void {
    for (const event of this.#kept.splice(0)) listener(event);
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
