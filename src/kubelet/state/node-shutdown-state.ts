import type { WallTime } from "../../lib/base/time.ts";

/** Whether this machine is about to shut down. Written by the node shutdown manager only. */
export class NodeShutdownState {
  #since: WallTime | undefined;

  /** When it was detected that logind prepares for a shutdown; undefined if there is none. */
  get since(): WallTime | undefined {
    return this.#since;
  }

  set(since: WallTime | undefined): void {
    this.#since = since;
  }
}
