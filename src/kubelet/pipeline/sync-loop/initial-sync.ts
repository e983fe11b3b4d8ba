import type { PodSourceName } from "../../../lib/model/pod.ts";
import type { Post } from "./events.ts";

export interface InitialSyncOptions {
  readonly post: Post;
  /** All sources that there will be. */
  readonly sources: () => readonly PodSourceName[];
}

/** What has to be known before an absence means anything, and before the first pod is started. */
export class InitialSync {
  readonly #o: InitialSyncOptions;
  readonly #delivered = new Set<PodSourceName>();
  #isRuntimeListed = false;
  #isRuntimeKnown = false;

  constructor(options: InitialSyncOptions) {
    this.#o = options;
  }

  /** The pods of the source are desired, and their workers know them. */
  delivered(source: PodSourceName): void {
    if (this.#delivered.has(source)) return;
    this.#delivered.add(source);
    this.#o.post({ kind: "source-synced", source });
  }

  runtimeListed(): void {
    this.#isRuntimeListed = true;
  }

  /** The runtime has answered: what it can do is known. */
  runtimeKnown(): void {
    this.#isRuntimeKnown = true;
  }

  /** Every source has delivered its pods: before that, they look like nobody's. */
  areSourcesReady(): boolean {
    return this.#o.sources().every((source) => this.#delivered.has(source));
  }

  /** Whether a pod of the runtime that no source wants is an orphan. */
  isComplete(): boolean {
    return this.#isRuntimeListed && this.areSourcesReady();
  }

  /**
   * Without a first list of the runtime any start could be a second one. Whether a pod may run here depends on what the runtime can
   * do, and a refusal is for good.
   */
  mayStartPods(): boolean {
    return this.#isRuntimeListed && this.#isRuntimeKnown;
  }
}
