import { readFile } from "node:fs/promises";
import { errnoOf, KubeletError, messageOf } from "../../../lib/base/errors.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import { writeDurably } from "../../../lib/host/durable-file.ts";
import { decodeCheckpoint, encodeCheckpoint, type MemoryState } from "./checkpoint.ts";

/** The checkpoint of the memory manager. Concurrent writes are combined. */
export class MemoryStateFile {
  readonly #path: string;
  readonly #logger: Logger;
  #state: MemoryState | undefined;
  /** The last state, if it could not be written. */
  #unwritten: MemoryState | undefined;
  #written = "";
  #writing: Promise<void> | undefined;

  constructor(path: string, logger: Logger) {
    this.#path = path;
    this.#logger = logger;
  }

  /** The state of a previous agent, if there is any. Throws if it cannot be trusted, or belongs to another policy. */
  async load(policy: string, podLevel = false): Promise<MemoryState | undefined> {
    try {
      const text = await readFile(this.#path, "utf8");
      const state = decodeCheckpoint(text, podLevel);
      if (state.policy !== policy)
        throw new KubeletError(
          "PolicyChanged",
          `[memorymanager] configured policy "${policy}" differs from state checkpoint policy "${state.policy}"`,
        );
      this.#written = text;
      return state;
    } catch (error) {
      if (errnoOf(error) === "ENOENT") return undefined;
      throw this.unusable(`could not restore state from checkpoint: ${messageOf(error)}`, error);
    }
  }

  /** An error with the advice of the reference kubelet. */
  unusable(problem: string, cause?: unknown): KubeletError {
    return new KubeletError(
      "CorruptCheckpoint",
      `${problem}, please drain this node and delete the memory manager checkpoint file "${this.#path}" before restarting Kubelet`,
      { cause },
    );
  }

  /** Resolves when it is on disk. A failure is logged: the allocation remains valid while the agent runs. */
  save(state: MemoryState): Promise<void> {
    this.#state = state;
    this.#writing ??= this.#write();
    return this.#writing;
  }

  /** Repeats a write that has failed, for example because the disk was full. */
  retry(): void {
    if (this.#unwritten && !this.#writing) void this.save(this.#unwritten);
  }

  async flushed(): Promise<void> {
    await this.#writing;
  }

  async #write(): Promise<void> {
    // Changes of the same tick are written together.
    await Promise.resolve();
    for (let state = this.#state; state; state = this.#state) {
      this.#state = undefined;
      this.#unwritten = undefined;
      const text = encodeCheckpoint(state);
      if (text === this.#written) continue;
      try {
        await writeDurably(this.#path, text, 0o600);
        this.#written = text;
      } catch (error) {
        this.#unwritten = state;
        this.#logger.error("Failed to store state to checkpoint", {
          path: this.#path,
          err: messageOf(error),
        });
      }
    }
    // In the same tick as the last check for changes: a later change starts another write.
    this.#writing = undefined;
  }
}
