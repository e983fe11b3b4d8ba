import { createHash } from "node:crypto";
import { stat } from "node:fs/promises";

/** One of the files that the value is built from. */
export interface Part {
  /** Changes whenever the text may have changed. Cheap. */
  version(): Promise<string>;
  read(): Promise<string>;
}

/** The outcomes of a check: loaded for the first time, file not touched, file touched but with the same content, loaded again. */
export type ReloadResult = "loaded" | "untouched" | "same" | "changed";

/**
 * A value built from files, and built again when they change. Its owner decides when to check. A reload that fails (a
 * file is missing, half of a pair was replaced) keeps the value, and the next one retries.
 */
export class FileBackedValue<T> {
  readonly #parts: readonly Part[];
  readonly #make: (texts: readonly string[]) => T;
  #value: { readonly value: T; readonly hash: string } | undefined;
  #versions = "";

  /** `make` throws if the texts are invalid or do not match. */
  constructor(parts: readonly Part[], make: (texts: readonly string[]) => T) {
    this.#parts = parts;
    this.#make = make;
  }

  /** Undefined only before the first successful load. The same object until the files change. */
  get value(): T | undefined {
    return this.#value?.value;
  }

  async reload(): Promise<ReloadResult> {
    const versions = (await Promise.all(this.#parts.map((part) => part.version()))).join("\n");
    const previous = this.#value;
    if (previous && versions === this.#versions) return "untouched";
    const texts = await Promise.all(this.#parts.map((part) => part.read()));
    const hash = createHash("sha256").update(texts.join("\0")).digest("hex");
    if (hash !== previous?.hash) this.#value = { value: this.#make(texts), hash };
    this.#versions = versions;
    if (!previous) return "loaded";
    return previous === this.#value ? "same" : "changed";
  }
}

export async function fileVersion(path: string): Promise<string> {
  const { ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true });
  return [ino, size, mtimeNs, ctimeNs].join(" ");
}
