import type { PodSourceName } from "../../../lib/model/pod.ts";
import type { Post } from "./events.ts";

export interface InitialSyncOptions {
  readonly post: Post;
  /** All sources that there will be. */
  readonly sources: readonly PodSourceName[];
}

/** Tracks what has to be known before a pod may start, and before a pod in no source is an orphan. */
export class InitialSync {
  readonly #o: InitialSyncOptions;
  readonly #delivered = new Set<PodSourceName>();
  #isRuntimeListed = false;
  #isRuntimeKnown = false;

  constructor(options: InitialSyncOptions) {
    this.#o = options;
  }

  /** The pods of the source are in the desired pods and have workers. */
  delivered(source: PodSourceName): void {
    if (this.#delivered.has(source)) return;
    this.#delivered.add(source);
    this.#o.post({ kind: "source-synced", source });
  }

  runtimeListed(): void {
    this.#isRuntimeListed = true;
  }

  /** The runtime has responded: its features are known. */
  runtimeKnown(): void {
    this.#isRuntimeKnown = true;
  }

  /** Every source has delivered its pods: before that they would look like orphans. */
  areSourcesReady(): boolean {
    return this.#o.sources.every((source) => this.#delivered.has(source));
  }

  /** Whether a pod of the runtime that is in no source is an orphan. */
  isComplete(): boolean {
    return this.#isRuntimeListed && this.areSourcesReady();
  }

  /**
   * Without a listing of the runtime a container could be started twice. Admission depends on the features of the runtime, and a
   * rejection is final.
   */
  mayStartPods(): boolean {
    return this.#isRuntimeListed && this.#isRuntimeKnown;
  }
}
