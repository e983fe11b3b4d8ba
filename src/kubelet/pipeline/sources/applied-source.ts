import { join } from "node:path";
import type { Pod } from "../../../lib/model/pod.ts";
import type { PodSource, SourceProblem } from "./source.ts";

/** Where manifests are kept that were put by HTTP or by `kubelet apply`. */
export interface AppliedManifests {
  /** Reads what earlier runs have kept. */
  open(): Promise<void>;
  pods(): Pod[];
  onChange(listener: () => void): () => void;
  list(): readonly { readonly name: string; readonly problems: readonly Omit<SourceProblem, "file">[] }[];
}

/** Pods that were put here one by one. A change is passed on before who made it is answered. */
export class AppliedSource implements PodSource {
  readonly name = "applied";
  readonly #manifests: AppliedManifests;
  readonly #dir: string;
  readonly #ended = Promise.withResolvers<void>();

  /** `dir` is for people: where the files are. */
  constructor(manifests: AppliedManifests, dir: string) {
    this.#manifests = manifests;
    this.#dir = dir;
  }

  get done(): Promise<void> {
    return this.#ended.promise;
  }

  async start(signal: AbortSignal, emit: (pods: Pod[]) => void): Promise<void> {
    await this.#manifests.open();
    const stop = this.#manifests.onChange(() => emit(this.#manifests.pods()));
    const end = () => {
      stop();
      this.#ended.resolve();
    };
    if (signal.aborted) return end();
    signal.addEventListener("abort", end, { once: true });
    emit(this.#manifests.pods());
  }

  problems(): SourceProblem[] {
    return this.#manifests
      .list()
      .flatMap(({ name, problems }) =>
        problems.map((problem) => ({ ...problem, file: join(this.#dir, name) })),
      );
  }
}
