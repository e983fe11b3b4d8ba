import { messageOf } from "../../../lib/base/errors.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import { CheckpointFile } from "../../../lib/host/checkpoint-file.ts";
import type { PodUid } from "../../../lib/model/pod.ts";

/**
 * The pods whose cgroups are being resized, in a file: what an agent that was killed in the middle has written to cgroups and runtime is
 * unknown, so the next one writes all of it again.
 */
export class ResizingFile {
  readonly #file: CheckpointFile;
  readonly #logger: Logger;
  #uids = new Set<PodUid>();

  constructor(path: string, logger: Logger) {
    this.#file = new CheckpointFile({ path, content: () => JSON.stringify({ pods: [...this.#uids] }) });
    this.#logger = logger;
  }

  /** If the file cannot be read, any pod may be in the middle of a resize. */
  async load(pods: Iterable<PodUid>): Promise<void> {
    try {
      const text = await this.#file.read();
      if (text === undefined) return;
      const { pods: uids } = JSON.parse(text) as { pods: PodUid[] };
      this.#uids = new Set(uids);
    } catch (error) {
      this.#logger.error("Failed to read record of resizes, repeating them for all pods", {
        path: this.#file.path,
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
    await this.#file.save();
  }

  /** Does not wait until it is on disk: to repeat a resize does no harm. */
  remove(uid: PodUid): void {
    if (this.#uids.delete(uid)) void this.#file.save();
  }

  keepOnly(isKnown: (uid: PodUid) => boolean): void {
    for (const uid of this.#uids) if (!isKnown(uid)) this.remove(uid);
  }

  flushed(): Promise<boolean> {
    return this.#file.flushed();
  }
}
