import type { Logger } from "../../../lib/base/logger.ts";
import { formatProblem, type SourceProblem } from "./source.ts";

/** Tells people about each problem once: when it appears, and when all of a file's are gone. */
export class ProblemLog {
  #logger: Logger;
  #told = new Map<string, Set<string>>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** Takes all problems that there are now. */
  update(problems: readonly SourceProblem[], warnings: readonly SourceProblem[]): void {
    const now = new Map<string, Set<string>>();
    for (const [list, level] of [
      [problems, "error"],
      [warnings, "warn"],
    ] as const) {
      for (const problem of list) {
        const line = formatProblem(problem);
        if (!this.#told.get(problem.file)?.has(line)) this.#logger[level](line, { file: problem.file });
        const lines = now.get(problem.file) ?? new Set();
        now.set(problem.file, lines.add(line));
      }
    }
    for (const file of this.#told.keys())
      if (!now.has(file)) this.#logger.info("Manifest is valid again", { file });
    this.#told = now;
  }
}
