import { readFile } from "node:fs/promises";
import { errnoOf, KubeletError, messageOf } from "../../../lib/base/errors.ts";
import { replaceDurably } from "../../../lib/host/durable-file.ts";
import { decodeCheckpoint, encodeCheckpoint } from "./checkpoint.ts";
import type { ClaimState } from "./claim-state.ts";

/** The checkpoint of the claims. Concurrent writes are combined. */
export class ClaimFile {
  readonly #path: string;
  readonly #claims: () => Iterable<ClaimState>;
  #running: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;
  #written: string | undefined;

  constructor(path: string, claims: () => Iterable<ClaimState>) {
    this.#path = path;
    this.#claims = claims;
  }

  /**
   * A file that cannot be trusted prevents startup, as in the reference kubelet: nothing else records the devices of running containers.
   * A missing file is created.
   */
  async load(): Promise<ClaimState[]> {
    try {
      const text = await readFile(this.#path, "utf8");
      this.#written = text;
      return decodeCheckpoint(text);
    } catch (error) {
      if (errnoOf(error) === "ENOENT") {
        await this.save();
        return [];
      }
      throw new KubeletError(
        "CorruptCheckpoint",
        `create ResourceClaim cache: GetOrCreate() on checkpoint state: failed to get checkpoint dra_manager_state: ${messageOf(error)}; drain this node and delete "${this.#path}" before restarting the kubelet`,
        { cause: error },
      );
    }
  }

  /** Resolves when the current claims are on disk. */
  save(): Promise<void> {
    this.#next ??= this.#running.then(() => {
      this.#next = undefined;
      const writing = this.#write();
      this.#running = writing.catch(() => {});
      return writing;
    });
    return this.#next;
  }

  async #write(): Promise<void> {
    const text = encodeCheckpoint(this.#claims());
    if (text === this.#written) return;
    this.#written = undefined;
    await replaceDurably(this.#path, text, 0o600);
    this.#written = text;
  }
}
