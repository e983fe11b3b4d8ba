import { readFile } from "node:fs/promises";
import { errnoOf } from "../base/errors.ts";
import { replaceDurably } from "./durable-file.ts";

export interface CheckpointOptions {
  readonly path: string;
  /** The text of the current state. */
  readonly content: () => string;
  /** Called once for each write that failed. `isRepeated` if the previous one failed, too. */
  readonly onError?: (error: unknown, isRepeated: boolean) => void;
  /** Replaces the file; by default durably, for root only. */
  readonly write?: ((path: string, text: string) => Promise<void>) | undefined;
}

/** A small file that is rewritten as a whole when the state that it contains changes. Changes during a write are combined in the next one. */
export class CheckpointFile {
  readonly path: string;
  readonly #o: CheckpointOptions;
  /** The text in the file; undefined if that is unknown. */
  #written: string | undefined;
  #running: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;
  #hasFailed = false;

  constructor(options: CheckpointOptions) {
    this.path = options.path;
    this.#o = options;
  }

  /** Undefined if there is no such file. */
  async read(): Promise<string | undefined> {
    try {
      this.#written = await readFile(this.path, "utf8");
      return this.#written;
    } catch (error) {
      if (errnoOf(error) === "ENOENT") return undefined;
      throw error;
    }
  }

  /**
   * Resolves when a state that is not older than the current one is in the file. Callers may ignore a rejection: `onError` was
   * called, and the next write includes the state.
   */
  save(): Promise<void> {
    this.#next ??= this.#running.then(() => {
      this.#next = undefined;
      const write = this.#write();
      this.#running = write.catch(() => {});
      return write;
    });
    this.#next.catch(() => {});
    return this.#next;
  }

  /** Repeats a write that has failed, for example because the disk was full. */
  retry(): void {
    if (this.#hasFailed) void this.save();
  }

  /** Resolves when no write is in progress: to true if the file has the last state that was saved. */
  async flushed(): Promise<boolean> {
    while (this.#next) await this.#next.catch(() => {});
    await this.#running;
    return !this.#hasFailed;
  }

  async #write(): Promise<void> {
    const { path, content, onError, write = (to, text) => replaceDurably(to, text, 0o600) } = this.#o;
    const text = content();
    const isRepeated = this.#hasFailed;
    this.#hasFailed = false;
    if (text === this.#written) return;
    // After a failure the file may have the old or the new content.
    this.#written = undefined;
    try {
      await write(path, text);
      this.#written = text;
    } catch (error) {
      this.#hasFailed = true;
      onError?.(error, isRepeated);
      throw error;
    }
  }
}
