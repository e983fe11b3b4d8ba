import type { Clock } from "../../base/clock.ts";
import type { Report, Waiting } from "./pod-work.ts";

const mostObstacles = 50;

/** What a pod waits for, in one line for people, and by container for its status. */
export class WorkerReport implements Report {
  readonly #clock: Clock;
  readonly #onChange: () => void;
  #current: { text: string; since: number } | undefined;
  /** What was in the way since the pod last had nothing to wait for, and since when. */
  #obstacles = new Map<string, number>();
  #containers = new Map<string, Waiting>();

  constructor(clock: Clock, onChange: () => void) {
    this.#clock = clock;
    this.#onChange = onChange;
  }

  get current(): { text: string; since: number } | undefined {
    return this.#current;
  }

  get containers(): ReadonlyMap<string, Waiting> {
    return this.#containers;
  }

  blockedOn(text: string): void {
    if (this.#current?.text === text) return;
    // What fails and is tried again has been in the way since the first time.
    const since = this.#obstacles.get(text) ?? this.#clock.now();
    if (this.#obstacles.size >= mostObstacles) this.#obstacles.clear();
    this.#obstacles.set(text, since);
    this.#current = { text, since };
    this.#onChange();
  }

  waiting(container: string, waiting: Waiting | undefined): void {
    const known = this.#containers.get(container);
    if (known?.reason === waiting?.reason && known?.message === waiting?.message) return;
    if (waiting) this.#containers.set(container, waiting);
    else this.#containers.delete(container);
    this.#onChange();
  }

  /** Nothing is in the way. */
  free(): void {
    this.#obstacles.clear();
    this.#current = undefined;
  }

  /** Another part of the pod's life begins: nothing of what was said holds any more. */
  clear(): void {
    this.#containers.clear();
    this.free();
  }
}
