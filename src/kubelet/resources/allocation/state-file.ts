import { readFile } from "node:fs/promises";
import { errnoOf, KubeletError, messageOf } from "../../../lib/base/errors.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import { replaceDurably } from "../../../lib/host/durable-file.ts";
import type { PodUid } from "../../../lib/model/pod.ts";
import { decodeCheckpoint, encodeCheckpoint, type PodResourceInfo } from "./checkpoint.ts";

/** Resources by pod, in memory and in a file. Writes never block; concurrent ones are combined. */
export class PodResourceFile {
  readonly #path: string;
  readonly #logger: Logger;
  #infos = new Map<PodUid, PodResourceInfo>();
  #written = "";
  #writing: Promise<void> | undefined;
  #isDirty = false;
  #hasFailed = false;

  constructor(path: string, logger: Logger) {
    this.#path = path;
    this.#logger = logger;
  }

  /** A file that cannot be trusted prevents startup, as in the reference kubelet: it contains the allocations of containers. */
  async load(): Promise<void> {
    try {
      const text = await readFile(this.#path, "utf8");
      this.#infos = decodeCheckpoint(text);
      this.#written = text;
    } catch (error) {
      if (errnoOf(error) === "ENOENT") return;
      throw new KubeletError(
        "CorruptCheckpoint",
        `could not restore state from checkpoint: ${messageOf(error)}, please drain this node and delete pod resource information checkpoint file "${this.#path}" before restarting Kubelet`,
        { cause: error },
      );
    }
  }

  get(uid: PodUid): PodResourceInfo | undefined {
    return this.#infos.get(uid);
  }

  uids(): IterableIterator<PodUid> {
    return this.#infos.keys();
  }

  set(uid: PodUid, info: PodResourceInfo): void {
    this.#infos.set(uid, info);
    this.#save();
  }

  /** The file is updated with the next write: an extra pod in it does no harm. */
  remove(uid: PodUid): void {
    this.#infos.delete(uid);
  }

  /** Called periodically: repeats a write that has failed, for example because the disk was full. */
  keepOnly(isKnown: (uid: PodUid) => boolean): void {
    if (this.#hasFailed) this.#save();
    for (const uid of this.#infos.keys()) if (!isKnown(uid)) this.remove(uid);
  }

  /** Resolves when all changes have been written: to true, or to false if that failed. */
  async flushed(): Promise<boolean> {
    while (this.#writing) await this.#writing;
    return !this.#hasFailed;
  }

  #save(): void {
    this.#isDirty = true;
    this.#writing ??= this.#write();
  }

  async #write(): Promise<void> {
    // Changes of the same tick are written together.
    await Promise.resolve();
    while (this.#isDirty) {
      this.#isDirty = false;
      const text = encodeCheckpoint(this.#infos);
      if (text === this.#written) {
        this.#hasFailed = false;
        continue;
      }
      try {
        await replaceDurably(this.#path, text, 0o600);
        this.#written = text;
        this.#hasFailed = false;
      } catch (error) {
        const fields = { path: this.#path, err: messageOf(error) };
        const message = "Failed to save pod resource information checkpoint";
        if (this.#hasFailed) this.#logger.debug(2, message, fields);
        else this.#logger.error(message, fields);
        this.#hasFailed = true;
      }
    }
    // In the same tick as the last check for changes: a later change starts another write.
    this.#writing = undefined;
  }
}
