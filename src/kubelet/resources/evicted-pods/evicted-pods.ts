import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { errnoOf, messageOf } from "../../../lib/base/errors.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import { replaceDurably } from "../../../lib/host/durable-file.ts";
import type { PodUid } from "../../../lib/model/pod.ts";
import { decodeRecord, type Eviction, encodeRecord } from "./record.ts";

export interface EvictedPodsOptions {
  readonly rootDir: string;
  readonly logger: Logger;
  /** The ID of the current boot; "" if it is unknown. */
  readonly bootId?: string;
  /** A static pod may run again after a reboot: nothing replaces it on another node. */
  readonly isStatic?: (uid: PodUid) => boolean;
  /** The pod has to be terminated. */
  readonly onEvicted: (uid: PodUid, eviction: Eviction) => void;
  /** Replaces the file; for tests. */
  readonly write?: (path: string, text: string) => Promise<void>;
}

/**
 * The pods that the kubelet terminates on its own: evicted or preempted. They are on disk before the first container is stopped, so
 * that an agent that restarts in between neither runs such a pod again nor evicts another one in its place. A pod remains in the
 * record until it is gone.
 */
export class EvictedPods {
  readonly #o: EvictedPodsOptions;
  readonly #path: string;
  #evictions = new Map<PodUid, Eviction>();
  #written = "";
  #writing: Promise<void> = Promise.resolve();

  constructor(options: EvictedPodsOptions) {
    this.#o = options;
    this.#path = join(options.rootDir, "evicted-pods.json");
  }

  /** A file that cannot be read is only logged: without it a pod may run again, but the node works. */
  async start(): Promise<void> {
    try {
      const text = await readFile(this.#path, "utf8");
      this.#evictions = decodeRecord(text);
      this.#written = text;
      this.#dropBeforeReboot();
    } catch (error) {
      if (errnoOf(error) === "ENOENT") return;
      this.#o.logger.error("Failed to read evicted pods, starting without them", {
        path: this.#path,
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
    await this.#save();
    this.#o.onEvicted(uid, eviction);
  }

  forget(uid: PodUid): void {
    if (this.#evictions.delete(uid)) void this.#save();
  }

  keepOnly(isKnown: (uid: PodUid) => boolean): void {
    for (const uid of [...this.#evictions.keys()]) if (!isKnown(uid)) this.forget(uid);
  }

  flushed(): Promise<void> {
    return this.#writing;
  }

  /** Never fails. */
  #save(): Promise<void> {
    this.#writing = this.#writing.then(() => this.#write());
    return this.#writing;
  }

  async #write(): Promise<void> {
    const { logger, write = (path: string, text: string) => replaceDurably(path, text, 0o600) } = this.#o;
    const text = encodeRecord(this.#evictions);
    if (text === this.#written) return;
    try {
      await write(this.#path, text);
      this.#written = text;
    } catch (error) {
      logger.error("Failed to record evicted pods", { path: this.#path, err: messageOf(error) });
    }
  }
}
