import { readFile, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { KubeletError, messageOf } from "../../../lib/base/errors.ts";
import { writeDurably } from "../../../lib/host/durable-file.ts";
import { type DeviceCheckpoint, decodeCheckpoint, encodeCheckpoint } from "./checkpoint.ts";

/** The file with all allocations. Concurrent writes are combined. */
export class CheckpointFile {
  readonly #path: string;
  readonly #content: () => DeviceCheckpoint;
  #written = "";
  /** The write in progress, and the one that will include the next changes. */
  #running: Promise<void> | undefined;
  #next: Promise<void> | undefined;

  constructor(path: string, content: () => DeviceCheckpoint) {
    this.#path = path;
    this.#content = content;
  }

  /** Undefined if there is none. */
  async read(): Promise<DeviceCheckpoint | undefined> {
    let text: string;
    try {
      text = await readFile(this.#path, "utf8");
    } catch (error) {
      if ((error as { code?: unknown }).code === "ENOENT") return undefined;
      throw error;
    }
    const checkpoint = decodeCheckpoint(text);
    this.#written = text;
    return checkpoint;
  }

  /** Resolves when a state that is not older than the current one is on disk. */
  save(): Promise<void> {
    this.#next ??= this.#writeNext();
    return this.#next;
  }

  /** Resolves when all writes have finished. */
  async flushed(): Promise<void> {
    while (this.#next ?? this.#running) await (this.#next ?? this.#running)?.catch(() => {});
  }

  async #writeNext(): Promise<void> {
    // Changes of the same tick, and those during the running write, are written together.
    await Promise.resolve();
    await this.#running?.catch(() => {});
    this.#running = this.#write();
    this.#next = undefined;
    const running = this.#running;
    try {
      await running;
    } finally {
      if (this.#running === running) this.#running = undefined;
    }
  }

  async #write(): Promise<void> {
    const text = encodeCheckpoint(this.#content());
    if (text === this.#written) return;
    // Sockets of plugins are in the same directory: they do not expect other names.
    const temporary = join(dirname(this.#path), ".checkpoint.new");
    try {
      await writeDurably(this.#path, text, 0o600, temporary);
      this.#written = text;
    } catch (error) {
      await rm(temporary, { force: true }).catch(() => {});
      throw new KubeletError(
        "UnexpectedAdmissionError",
        `failed to write checkpoint file "kubelet_internal_checkpoint": ${messageOf(error)}`,
        { cause: error },
      );
    }
  }
}
