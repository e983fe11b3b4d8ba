import { KubeletError } from "../base/errors.ts";

/** A field inside the configuration: keys of objects and maps, indexes of lists. */
export type Path = readonly (string | number)[];

/** One problem, with the field it is about (an empty path is the document itself). */
export interface Problem {
  readonly path: Path;
  readonly message: string;
  /** The origin of the value, if already known: "/etc/kubelet.yaml:12" or "--eviction-hard". */
  readonly origin?: string | undefined;
  /** Set if the problem only causes a warning in these files, as with the lenient decoding of the reference kubelet. */
  readonly tolerated?: { readonly in: "main file" | "all files"; readonly effect: string };
}

export function formatPath(path: Path): string {
  let text = "";
  for (const step of path) {
    if (typeof step === "number") text += `[${step}]`;
    else text += text === "" ? step : `.${step}`;
  }
  return text;
}

/** Records which file and line, or which flag, set each field. */
export class Origins {
  readonly #byPath = new Map<string, string>();

  set(path: Path, origin: string): void {
    this.#byPath.set(keyOf(path), origin);
  }

  /** Merges a later source; whatever that source replaced as a whole is dropped. */
  merge(later: Origins, replaced: readonly Path[] = []): void {
    for (const path of replaced) {
      const prefix = keyOf(path);
      for (const key of this.#byPath.keys()) if (key.startsWith(prefix)) this.#byPath.delete(key);
    }
    for (const [key, origin] of later.#byPath) this.#byPath.set(key, origin);
  }

  /** The origin of the field, or of its nearest parent. */
  find(path: Path): string | undefined {
    for (let length = path.length; length > 0; length--) {
      const origin = this.#byPath.get(keyOf(path.slice(0, length)));
      if (origin !== undefined) return origin;
    }
    return undefined;
  }
}

function keyOf(path: Path): string {
  return path.map((step) => `${step}\0`).join("");
}

export function formatConfigProblem(problem: Problem, origins?: Origins): string {
  const origin = problem.origin ?? origins?.find(problem.path);
  return [origin, formatPath(problem.path), problem.message].filter((part) => part).join(": ");
}

/** One error for all problems, a line each. */
export function configError(problems: readonly Problem[], origins?: Origins): KubeletError {
  return new KubeletError(
    "Config",
    problems.map((problem) => formatConfigProblem(problem, origins)).join("\n"),
  );
}
