import { readFile } from "node:fs/promises";
import { errnoOf, messageOf } from "../base/errors.ts";
import type { Logger } from "../base/logger.ts";
import { replaceDurably } from "./durable-file.ts";

/** A small file that is rewritten as a whole. Writes never block; concurrent ones are combined. */
export class CheckpointFile {
  readonly path: string;
  readonly #logger: Logger;
  #written: string | undefined;
  #latest: string | undefined;
  #writing: Promise<void> | undefined;

  constructor(path: string, logger: Logger) {
    this.path = path;
    this.#logger = logger;
  }

  /** Undefined if there is no such file. */
  async read(): Promise<string | undefined> {
    try {
      const text = await readFile(this.path, "utf8");
      this.#written = text;
      return text;
    } catch (error) {
      if (errnoOf(error) === "ENOENT") return undefined;
      throw error;
    }
  }

  /** Schedules a write. A failure is logged, and the next write includes the same content or a newer one. */
  write(text: string): void {
    this.#latest = text;
    this.#writing ??= this.#writeLatest();
  }

  /** Repeats a write that has failed, for example because the disk was full. */
  retry(): void {
    if (this.#latest !== undefined && this.#latest !== this.#written) this.write(this.#latest);
  }

  /** Resolves when everything is written, or failed to be. */
  async flushed(): Promise<void> {
    while (this.#writing) await this.#writing;
  }

  async #writeLatest(): Promise<void> {
    // Changes of the same tick are written together.
    await Promise.resolve();
    let failed: string | undefined;
    while (this.#latest !== undefined && this.#latest !== this.#written && this.#latest !== failed) {
      const text = this.#latest;
      try {
        await replaceDurably(this.path, text, 0o600);
        this.#written = text;
      } catch (error) {
        failed = text;
        this.#logger.error("Failed to save checkpoint", { path: this.path, err: messageOf(error) });
      }
    }
    // In the same tick as the last check for changes: a later change starts another write.
    this.#writing = undefined;
  }
}
