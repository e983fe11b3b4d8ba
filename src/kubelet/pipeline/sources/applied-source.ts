import { join } from "node:path";
import { whenAborted } from "../../../lib/base/abort.ts";
import type { Pod } from "../../../lib/model/pod.ts";
import type { PodSource, SourceProblem } from "./source.ts";

/** The store of manifests that were applied over HTTP or with `kubelet apply`. */
export interface AppliedManifests {
  /** Reads the manifests of earlier runs. */
  open(): Promise<void>;
  pods(): Pod[];
  onChange(listener: () => void): () => void;
  list(): readonly { readonly name: string; readonly problems: readonly Omit<SourceProblem, "file">[] }[];
}

/** Pods that were applied one by one. A change is emitted before the client gets its response. */
export class AppliedSource implements PodSource {
  readonly name = "applied";
  readonly #manifests: AppliedManifests;
  readonly #dir: string;
  readonly #done = Promise.withResolvers<void>();

  /** `dir` is where the files are, for messages. */
  constructor(manifests: AppliedManifests, dir: string) {
    this.#manifests = manifests;
    this.#dir = dir;
  }

  get done(): Promise<void> {
    return this.#done.promise;
  }

  async start(signal: AbortSignal, emit: (pods: Pod[]) => void): Promise<void> {
    await this.#manifests.open();
    const stop = this.#manifests.onChange(() => emit(this.#manifests.pods()));
    const end = () => {
      stop();
      this.#done.resolve();
    };
    whenAborted(signal, end);
    if (!signal.aborted) emit(this.#manifests.pods());
  }

  problems(): SourceProblem[] {
    return this.#manifests
      .list()
      .flatMap(({ name, problems }) =>
        problems.map((problem) => ({ ...problem, file: join(this.#dir, name) })),
      );
  }
}
