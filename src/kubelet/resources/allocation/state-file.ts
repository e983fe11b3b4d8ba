import { KubeletError, messageOf } from "../../../lib/base/errors.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import { CheckpointFile } from "../../../lib/host/checkpoint-file.ts";
import type { PodUid } from "../../../lib/model/pod.ts";
import { decodeCheckpoint, encodeCheckpoint, type PodResourceInfo } from "./checkpoint.ts";

/** Resources by pod, in memory and in a file. Writes never block; concurrent ones are combined. */
export class PodResourceFile {
  readonly #file: CheckpointFile;
  #infos = new Map<PodUid, PodResourceInfo>();

  constructor(path: string, logger: Logger) {
    this.#file = new CheckpointFile({
      path,
      content: () => encodeCheckpoint(this.#infos),
      onError: (error, isRepeated) => {
        const fields = { path, err: messageOf(error) };
        const message = "Failed to save pod resource information checkpoint";
        if (isRepeated) logger.debug(2, message, fields);
        else logger.error(message, fields);
      },
    });
  }

  /** A file that cannot be trusted prevents startup, as in the reference kubelet: it contains the allocations of containers. */
  async load(): Promise<void> {
    try {
      const text = await this.#file.read();
      if (text !== undefined) this.#infos = decodeCheckpoint(text);
    } catch (error) {
      throw new KubeletError(
        "CorruptCheckpoint",
        `could not restore state from checkpoint: ${messageOf(error)}, please drain this node and delete pod resource information checkpoint file "${this.#file.path}" before restarting Kubelet`,
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
    void this.#file.save();
  }

  /** The file is updated with the next write: an extra pod in it does no harm. */
  remove(uid: PodUid): void {
    this.#infos.delete(uid);
  }

  /** Called periodically: repeats a write that has failed, for example because the disk was full. */
  keepOnly(isKnown: (uid: PodUid) => boolean): void {
    this.#file.retry();
    for (const uid of this.#infos.keys()) if (!isKnown(uid)) this.remove(uid);
  }

  /** Resolves when all changes have been written: to true, or to false if that failed. */
  flushed(): Promise<boolean> {
    return this.#file.flushed();
  }
}
