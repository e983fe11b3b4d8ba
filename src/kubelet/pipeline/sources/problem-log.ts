import type { Logger } from "../../../lib/base/logger.ts";
import { formatProblem, type SourceProblem } from "./source.ts";

/** Logs each problem once when it appears, and a file once when it has no more problems. */
export class ProblemLog {
  #logger: Logger;
  #logged = new Map<string, Set<string>>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** Replaces the current problems. */
  update(problems: readonly SourceProblem[], warnings: readonly SourceProblem[]): void {
    const now = new Map<string, Set<string>>();
    for (const [list, level] of [
      [problems, "error"],
      [warnings, "warn"],
    ] as const) {
      for (const problem of list) {
        const line = formatProblem(problem);
        if (!this.#logged.get(problem.file)?.has(line)) this.#logger[level](line, { file: problem.file });
        const lines = now.get(problem.file) ?? new Set();
        now.set(problem.file, lines.add(line));
      }
    }
    for (const file of this.#logged.keys())
      if (!now.has(file)) this.#logger.info("Manifest is valid again", { file });
    this.#logged = now;
  }
}
