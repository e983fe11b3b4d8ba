import { createHash } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import type { Clock } from "../../lib/base/clock.ts";
import type { Component } from "../../lib/base/component.ts";
import { KubeletError, messageOf } from "../../lib/base/errors.ts";
import type { Logger } from "../../lib/base/logger.ts";
import { inRounds } from "../../lib/base/rounds.ts";
import { Listeners } from "./listeners.ts";

export interface WatchedFilesOptions<T> {
  readonly name: string;
  readonly files: readonly string[];
  /** Throws if the files do not make sense (together). */
  readonly make: (texts: readonly string[]) => T;
  /** False: the files are read once. */
  readonly reload: boolean;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A look is a stat() of each file. */
const lookEveryMs = 5000;

/**
 * Something made of files, and made anew when they change. What makes no sense (half of a pair was replaced) changes
 * nothing and is looked at again.
 */
export class WatchedFiles<T> implements Component {
  readonly name: string;
  readonly done: Promise<void>;
  readonly #o: WatchedFilesOptions<T>;
  readonly #ended = Promise.withResolvers<void>();
  readonly #listeners = new Listeners<T>();
  #value: { made: T; hash: string } | undefined;
  #seen = "";
  #complaint = "";

  constructor(options: WatchedFilesOptions<T>) {
    this.#o = options;
    this.name = options.name;
    this.done = this.#ended.promise;
  }

  /** Undefined only before the start. */
  current(): T | undefined {
    return this.#value?.made;
  }

  onChange(listener: (value: T) => void): () => void {
    return this.#listeners.add(listener);
  }

  /** Rejects if the files cannot be used: there is nothing yet to go on with. */
  async start(signal: AbortSignal): Promise<void> {
    const { clock, reload, name, files } = this.#o;
    try {
      await this.#look();
    } catch (error) {
      this.#ended.resolve();
      throw new KubeletError("CertificateFiles", `${name}: ${files.join(", ")}: ${messageOf(error)}`, {
        cause: error,
      });
    }
    if (!reload) return this.#ended.resolve();
    const options = {
      clock,
      everyMs: lookEveryMs,
      signal,
      onError: (error: unknown) => this.#complain(error),
    };
    void inRounds(() => this.#look(), options).finally(this.#ended.resolve);
  }

  async #look(): Promise<void> {
    const { files, make, logger, name } = this.#o;
    const seen = (await Promise.all(files.map(version))).join("\n");
    if (seen === this.#seen) return;
    const texts = await Promise.all(files.map((file) => readFile(file, "utf8")));
    const hash = createHash("sha256").update(texts.join("\0")).digest("hex");
    const before = this.#value;
    if (hash !== before?.hash) this.#value = { made: make(texts), hash };
    this.#seen = seen;
    this.#complaint = "";
    if (this.#value === before || this.#value === undefined || before === undefined) return;
    logger.info("Reloaded certificate files", { name, files });
    this.#listeners.tell(this.#value.made);
  }

  #complain(error: unknown): void {
    const complaint = messageOf(error);
    if (complaint === this.#complaint) return;
    this.#complaint = complaint;
    const { logger, name, files } = this.#o;
    logger.error("Failed to reload certificate files, keeping the previous certificate", {
      name,
      files,
      err: complaint,
    });
  }
}

async function version(file: string): Promise<string> {
  const { ino, size, mtimeNs, ctimeNs } = await stat(file, { bigint: true });
  return [ino, size, mtimeNs, ctimeNs].join(" ");
}
