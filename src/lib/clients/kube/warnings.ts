import type { Logger } from "../../base/logger.ts";

const maxKnown = 200;

/** Logs warnings of the API server (deprecated versions and fields), each text once. */
export class Warnings {
  readonly #logger: Logger;
  readonly #known = new Set<string>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  log(header: string | string[] | undefined): void {
    if (header === undefined) return;
    for (const text of warningTexts([header].flat().join(", "))) {
      if (this.#known.has(text) || this.#known.size >= maxKnown) continue;
      this.#known.add(text);
      this.#logger.warn("API server returned a warning", { warning: text });
    }
  }
}

/** The texts in a Warning header: `299 - "text"`, several with commas between them. */
export function warningTexts(header: string): string[] {
  return [...header.matchAll(/\b299 \S+ "((?:[^"\\]|\\.)*)"/g)].map(([, text = ""]) =>
    text.replace(/\\(.)/g, "$1"),
  );
}
