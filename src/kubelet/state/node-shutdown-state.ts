import type { WallTime } from "../../lib/base/time.ts";

/** Whether this machine is about to shut down. Written by the node shutdown manager only. */
export class NodeShutdownState {
  #since: WallTime | undefined;

  /** When the shutdown was announced; undefined if there is none. */
  get since(): WallTime | undefined {
    return this.#since;
  }

  set(since: WallTime | undefined): void {
    this.#since = since;
  }
}
