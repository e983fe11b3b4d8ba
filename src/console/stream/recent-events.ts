import type { ConsoleEvent } from "../console-node.ts";
import type { PodEvent } from "../protocol.ts";

const maxEvents = 200;

/** The newest Kubernetes events of the node and its pods. Equal events are counted. */
export class RecentEvents {
  readonly #nodeName: string;
  /** By id, the last changed at the end. */
  readonly #events = new Map<number, PodEvent>();
  /** The ids by object, reason and message. */
  readonly #ids = new Map<string, number>();
  #nextId = 1;

  constructor(nodeName: string) {
    this.#nodeName = nodeName;
  }

  add(event: ConsoleEvent, now: number): PodEvent {
    const { pod, container = "", type, reason, message } = event;
    const key = JSON.stringify([pod?.uid, container, type, reason, message]);
    const known = this.#events.get(this.#ids.get(key) ?? 0);
    const changed: PodEvent = known
      ? { ...known, count: known.count + 1, lastAt: now }
      : {
          id: this.#nextId++,
          uid: pod?.uid ?? "",
          object: pod ? `${pod.namespace}/${pod.name}` : this.#nodeName,
          container,
          type,
          reason,
          message,
          count: 1,
          firstAt: now,
          lastAt: now,
        };
    this.#events.delete(changed.id);
    this.#events.set(changed.id, changed);
    this.#ids.set(key, changed.id);
    if (this.#events.size > maxEvents) this.#dropOldest();
    return changed;
  }

  all(): PodEvent[] {
    return [...this.#events.values()];
  }

  of(uid: string): PodEvent[] {
    return this.all().filter((event) => event.uid === uid);
  }

  #dropOldest(): void {
    const [oldest] = this.#events.keys();
    if (oldest === undefined) return;
    this.#events.delete(oldest);
    for (const [key, id] of this.#ids) if (id === oldest) this.#ids.delete(key);
  }
}
