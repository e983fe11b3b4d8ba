import { join } from "node:path";
import { messageOf } from "../../../lib/base/errors.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import { CheckpointFile } from "../../../lib/host/checkpoint-file.ts";
import type { PodUid } from "../../../lib/model/pod.ts";
import { decodeRecord, type Eviction, encodeRecord } from "./record.ts";

export interface EvictedPodsOptions {
  readonly rootDir: string;
  readonly logger: Logger;
  /** The ID of the current boot; "" if it is unknown. */
  readonly bootId?: string;
  /** A static pod may run again after a reboot: nothing replaces it on another node. */
  readonly isStatic?: (uid: PodUid) => boolean;
  /** The pod has to be terminated: posted as `pod-evicted`. */
  readonly onEvicted: (uid: PodUid, eviction: Eviction) => void;
  /** Replaces the file; for tests. */
  readonly write?: (path: string, text: string) => Promise<void>;
}

/**
 * The pods that the kubelet terminates on its own: evicted or preempted. They are on disk before the first container is stopped, so that an
 * agent that restarts in between does not run such a pod again, and does not evict another pod in its place. A pod remains in the
 * record until it is gone.
 */
export class EvictedPods {
  readonly #o: EvictedPodsOptions;
  readonly #file: CheckpointFile;
  #evictions = new Map<PodUid, Eviction>();

  constructor(options: EvictedPodsOptions) {
    const { rootDir, logger, write } = options;
    this.#o = options;
    const path = join(rootDir, "evicted-pods.json");
    this.#file = new CheckpointFile({
      path,
      content: () => encodeRecord(this.#evictions),
      onError: (error) => logger.error("Failed to record evicted pods", { path, err: messageOf(error) }),
      write,
    });
  }

  /** A file that cannot be read is only logged: without it a pod may run again, but the node works. */
  async start(): Promise<void> {
    try {
      const text = await this.#file.read();
      if (text === undefined) return;
      this.#evictions = decodeRecord(text);
      this.#dropBeforeReboot();
    } catch (error) {
      this.#o.logger.error("Failed to read evicted pods, starting without them", {
        path: this.#file.path,
        err: messageOf(error),
      });
    }
  }

  #dropBeforeReboot(): void {
    const { bootId: current } = this.#o;
    for (const [uid, { bootId }] of [...this.#evictions])
      if (current && bootId !== undefined && bootId !== current) this.forget(uid);
  }

  get(uid: PodUid): Eviction | undefined {
    return this.#evictions.get(uid);
  }

  has(uid: PodUid): boolean {
    return this.#evictions.has(uid);
  }

  all(): PodUid[] {
    return [...this.#evictions.keys()];
  }

  /**
   * Terminates a pod. Resolves when that is recorded and posted, not when the pod has terminated. The first eviction of a pod is kept. A disk that
   * is full may be the reason for an eviction, so a record that cannot be written does not prevent it.
   */
  async evict(uid: PodUid, eviction: Eviction): Promise<void> {
    if (this.#evictions.has(uid)) return;
    const { bootId, isStatic } = this.#o;
    const endsWithBoot = bootId && isStatic?.(uid);
    this.#evictions.set(uid, endsWithBoot ? { ...eviction, bootId } : eviction);
    await this.#file.save().catch(() => {});
    this.#o.onEvicted(uid, eviction);
  }

  forget(uid: PodUid): void {
    if (this.#evictions.delete(uid)) void this.#file.save();
  }

  keepOnly(isKnown: (uid: PodUid) => boolean): void {
    for (const uid of [...this.#evictions.keys()]) if (!isKnown(uid)) this.forget(uid);
  }

  async flushed(): Promise<void> {
    await this.#file.flushed();
  }
}
