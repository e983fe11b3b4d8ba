import type { Health } from "../../../lib/base/component.ts";
import type { Pod, PodSourceName } from "../../../lib/model/pod.ts";

/** Somewhere that says which pods this node should run. */
export interface PodSource {
  readonly name: PodSourceName;
  /** Resolves when the source is at work; every call of `emit` gives the full set of its pods. */
  start(signal: AbortSignal, emit: (pods: Pod[]) => void): Promise<void>;
  /** Resolves when the source has ended, after the signal was aborted. */
  readonly done: Promise<void>;
  health?(): Health;
  /** What is wrong with what the source was given, as it is now. */
  problems?(): SourceProblem[];
}

/** Something wrong with what a source was given, for people. */
export interface SourceProblem {
  /** The path of a file, or a URL. */
  file: string;
  line?: number;
  field?: string;
  message: string;
}

/** `web.yaml:7: spec.containers[0].image: Required value` */
export function formatProblem({ file, line, field, message }: SourceProblem): string {
  return `${file}${line ? `:${line}` : ""}: ${field ? `${field}: ` : ""}${message}`;
}

/** More than this is not a manifest. */
export const maxManifestBytes = 10 * 1024 * 1024;
