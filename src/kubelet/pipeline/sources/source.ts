import type { Health } from "../../../lib/base/component.ts";
import type { Pod, PodSourceName } from "../../../lib/model/pod.ts";

/** Specifies pods that this node should run. */
export interface PodSource {
  readonly name: PodSourceName;
  /** Resolves when the source has started; every call of `emit` passes the full set of its pods. */
  start(signal: AbortSignal, emit: (pods: Pod[]) => void): Promise<void>;
  /** Resolves when the source has stopped, after the signal was aborted. */
  readonly done: Promise<void>;
  health?(): Health;
  /** The current problems with the source's input. */
  problems?(): SourceProblem[];
}

/** A problem with the input of a source, for users. */
export interface SourceProblem {
  /** The path of a file, or a URL. */
  file: string;
  line?: number;
  column?: number;
  field?: string;
  message: string;
}

/** `web.yaml:7: spec.containers[0].image: Required value` */
export function formatProblem({ file, line, field, message }: SourceProblem): string {
  return `${file}${line ? `:${line}` : ""}: ${field ? `${field}: ` : ""}${message}`;
}

export const maxManifestBytes = 10 * 1024 * 1024;
