import { readFile } from "node:fs/promises";
import type { Clock } from "../../lib/base/clock.ts";
import type { Component } from "../../lib/base/component.ts";
import { KubeletError, messageOf } from "../../lib/base/errors.ts";
import { FileBackedValue, fileVersion } from "../../lib/base/file-backed-value.ts";
import { Listeners } from "../../lib/base/listeners.ts";
import type { Logger } from "../../lib/base/logger.ts";
import { runPeriodically } from "../../lib/base/run-periodically.ts";

export interface WatchedFilesOptions<T> {
  readonly name: string;
  readonly files: readonly string[];
  /** Throws if the files are invalid or do not match each other. */
  readonly make: (texts: readonly string[]) => T;
  /** False: the files are read once. */
  readonly reload: boolean;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A check is a stat() of each file. */
const checkIntervalMs = 5000;

/**
 * A value read from files, and read again when they change. Invalid content (only one file of a pair was replaced) changes nothing
 * and is checked again.
 */
export class WatchedFiles<T> implements Component {
  readonly name: string;
  readonly done: Promise<void>;
  readonly #o: WatchedFilesOptions<T>;
  readonly #done = Promise.withResolvers<void>();
  readonly #listeners = new Listeners<[T]>();
  readonly #value: FileBackedValue<T>;
  #lastError = "";

  constructor(options: WatchedFilesOptions<T>) {
    this.#o = options;
    this.name = options.name;
    this.done = this.#done.promise;
    const part = (file: string) => ({ version: () => fileVersion(file), read: () => readFile(file, "utf8") });
    this.#value = new FileBackedValue(options.files.map(part), options.make);
  }

  /** Undefined only before the start. */
  current(): T | undefined {
    return this.#value.value;
  }

  onChange(listener: (value: T) => void): () => void {
    return this.#listeners.add(listener);
  }

  /** Rejects if the files cannot be used: there is no previous value to keep. */
  async start(signal: AbortSignal): Promise<void> {
    const { clock, reload, name, files } = this.#o;
    try {
      await this.#check();
    } catch (error) {
      this.#done.resolve();
      throw new KubeletError("CertificateFiles", `${name}: ${files.join(", ")}: ${messageOf(error)}`, {
        cause: error,
      });
    }
    if (!reload) return this.#done.resolve();
    const options = {
      clock,
      everyMs: checkIntervalMs,
      signal,
      onError: (error: unknown) => this.#logFailure(error),
    };
    void runPeriodically(() => this.#check(), options).finally(this.#done.resolve);
  }

  async #check(): Promise<void> {
    const { files, logger, name } = this.#o;
    const result = await this.#value.reload();
    this.#lastError = "";
    if (result !== "changed" || this.#value.value === undefined) return;
    logger.info("Reloaded certificate files", { name, files });
    this.#listeners.notify(this.#value.value);
  }

  #logFailure(error: unknown): void {
    const err = messageOf(error);
    if (err === this.#lastError) return;
    this.#lastError = err;
    const { logger, name, files } = this.#o;
    logger.error("Failed to reload certificate files, keeping the previous certificate", {
      name,
      files,
      err,
    });
  }
}
