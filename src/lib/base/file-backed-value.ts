import { createHash } from "node:crypto";
import { stat } from "node:fs/promises";

/** One of the texts that something is made of. */
export interface Part {
  /** Changes whenever the text may have changed. Cheap. */
  version(): Promise<string>;
  read(): Promise<string>;
}

/** What a look came to: made for the first time, not touched since, touched but with the same content, made again. */
export type ReloadResult = "made" | "untouched" | "same" | "changed";

/**
 * Something made of files, and made again when they change. Its owner decides when to check. A look that fails (a
 * file is gone, half of a pair was replaced) leaves the value as it is, and the next one tries again.
 */
export class FileBackedValue<T> {
  readonly #parts: readonly Part[];
  readonly #make: (texts: readonly string[]) => T;
  #value: { readonly value: T; readonly hash: string } | undefined;
  #versions = "";

  /** `make` throws if the texts do not make sense (together). */
  constructor(parts: readonly Part[], make: (texts: readonly string[]) => T) {
    this.#parts = parts;
    this.#make = make;
  }

  /** Undefined only before the first look that succeeded. The same object until the files change. */
  get value(): T | undefined {
    return this.#value?.value;
  }

  async reload(): Promise<ReloadResult> {
    const versions = (await Promise.all(this.#parts.map((part) => part.version()))).join("\n");
    const before = this.#value;
    if (before && versions === this.#versions) return "untouched";
    const texts = await Promise.all(this.#parts.map((part) => part.read()));
    const hash = createHash("sha256").update(texts.join("\0")).digest("hex");
    if (hash !== before?.hash) this.#value = { value: this.#make(texts), hash };
    this.#versions = versions;
    if (!before) return "made";
    return before === this.#value ? "same" : "changed";
  }
}

export async function fileVersion(path: string): Promise<string> {
  const { ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true });
  return [ino, size, mtimeNs, ctimeNs].join(" ");
}
