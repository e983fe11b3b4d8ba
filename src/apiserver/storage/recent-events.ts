import type { ChangeEvent } from "./change-event.ts";

/** The newest events in memory, so that watchers that keep up share them and need no query. */
export class RecentEvents {
  readonly #maxEvents: number;
  readonly #maxChars: number;
  #events: ChangeEvent[] = [];
  #chars = 0;
  /** All events after this version are in memory. */
  #floor: number;

  constructor(floor: number, maxEvents: number, maxChars: number) {
    this.#floor = floor;
    this.#maxEvents = maxEvents;
    this.#maxChars = maxChars;
  }

  add(events: readonly ChangeEvent[]): void {
    for (const event of events) {
      this.#events.push(event);
      this.#chars += size(event);
    }
    if (this.#fits(this.#events.length, this.#chars)) return;
    // A quarter of the space is freed at once, so that not every write copies the array.
    let drop = 0;
    while (drop < this.#events.length && !this.#fits((this.#events.length - drop) / 0.75, this.#chars / 0.75))
      this.#chars -= size(this.#events[drop++]!);
    this.#floor = this.#events[drop - 1]?.version ?? this.#floor;
    this.#events = this.#events.slice(drop);
  }

  /** The next changes of a resource after a version, oldest first; undefined if some are only in the database. */
  after(resource: string, version: number, limit: number): ChangeEvent[] | undefined {
    if (version < this.#floor) return undefined;
    const found: ChangeEvent[] = [];
    for (let i = this.#firstAfter(version); i < this.#events.length && found.length < limit; i++) {
      const event = this.#events[i]!;
      if (event.object.key.resource === resource) found.push(event);
    }
    return found;
  }

  #firstAfter(version: number): number {
    let low = 0;
    let high = this.#events.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#events[middle]!.version > version) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  #fits(events: number, chars: number): boolean {
    return events <= this.#maxEvents && chars <= this.#maxChars;
  }
}

function size(event: ChangeEvent): number {
  return event.object.text.length + (event.previous?.text.length ?? 0);
}
