import { readFile } from "node:fs/promises";
import { errnoOf, messageOf } from "../../../lib/base/errors.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import { replaceDurably } from "../../../lib/host/durable-file.ts";
import type { PodUid } from "../../../lib/model/pod.ts";

/**
 * The pods whose cgroups are being resized, in a file: what an agent that was killed in the middle has written to cgroups and runtime is
 * unknown, so the next one writes all of it again.
 */
export class ResizingFile {
  readonly #path: string;
  readonly #logger: Logger;
  #uids = new Set<PodUid>();
  #writing: Promise<void> = Promise.resolve();
  #written = "";

  constructor(path: string, logger: Logger) {
    this.#path = path;
    this.#logger = logger;
  }

  /** If the file cannot be read, any pod may be in the middle of a resize. */
  async load(pods: Iterable<PodUid>): Promise<void> {
    try {
      this.#written = await readFile(this.#path, "utf8");
      const { pods: uids } = JSON.parse(this.#written) as { pods: PodUid[] };
      this.#uids = new Set(uids);
    } catch (error) {
      if (errnoOf(error) === "ENOENT") return;
      this.#logger.error("Failed to read record of resizes, repeating them for all pods", {
        path: this.#path,
        err: messageOf(error),
      });
      this.#uids = new Set(pods);
    }
  }

  has(uid: PodUid): boolean {
    return this.#uids.has(uid);
  }

  /** Resolves when it is on disk; fails if it cannot be written. */
  async add(uid: PodUid): Promise<void> {
    this.#uids.add(uid);
    await this.#save();
  }

  /** Does not wait until it is on disk: to repeat a resize does no harm. */
  remove(uid: PodUid): void {
    if (this.#uids.delete(uid)) this.#save().catch(() => {});
  }

  keepOnly(isKnown: (uid: PodUid) => boolean): void {
    for (const uid of this.#uids) if (!isKnown(uid)) this.remove(uid);
  }

  flushed(): Promise<void> {
    return this.#writing;
  }

  #save(): Promise<void> {
    const writing = this.#writing.then(() => this.#write());
    this.#writing = writing.catch(() => {});
    return writing;
  }

  async #write(): Promise<void> {
    const text = JSON.stringify({ pods: [...this.#uids] });
    if (text === this.#written) return;
    this.#written = "";
    await replaceDurably(this.#path, text, 0o600);
    this.#written = text;
  }
}
