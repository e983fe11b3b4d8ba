import { type Clock, sleep } from "../../../lib/base/clock.ts";
import type { Component } from "../../../lib/base/component.ts";
import { messageOf } from "../../../lib/base/errors.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import type { PodId, PodUid } from "../../../lib/model/pod.ts";
import type { OrphanMetrics } from "./orphan-metrics.ts";

export interface HousekeepingOptions {
  clock: Clock;
  logger: Logger;
  /** False until every source is ready and the runtime was listed: before that nothing is an orphan. */
  isSynced: () => boolean;
  /** True if the pod is desired or being terminated. */
  isKnown: (uid: PodUid) => boolean;
  inRuntime: () => Iterable<PodId>;
  /** False for a pod that may be desired by a source that this agent does not have. */
  mayTerminate: (uid: PodUid) => boolean;
  onOrphan: (pod: PodId) => void;
  files: { known(): Promise<PodId[]>; remove(pod: PodId): Promise<void>; removeDeadLinks(): Promise<void> };
  cgroups: {
    list(): Promise<PodUid[]>;
    remove(uid: PodUid): Promise<void>;
    reduceCpu(uid: PodUid): Promise<void>;
  };
  /** False if directories and cgroups may belong to pods of a source that this agent does not have. */
  removesOrphans: boolean;
  /** Pod records in separate files. */
  records?: readonly { keepOnly(isKnown: (uid: PodUid) => boolean): void }[];
  metrics?: OrphanMetrics;
}

const roundMs = 2000;
const roundsPerCleanup = 30;

/** Finds orphaned pods and their files and cgroups, and has them terminated and removed. */
export class Housekeeping implements Component {
  readonly name = "housekeeping";
  readonly #o: HousekeepingOptions;
  #loop: Promise<void> = Promise.resolve();
  #wake = new AbortController();

  constructor(options: HousekeepingOptions) {
    this.#o = options;
  }

  get done(): Promise<void> {
    return this.#loop;
  }

  async start(signal: AbortSignal): Promise<void> {
    this.#loop = this.#run(signal);
  }

  /** Runs now instead of with the next round: the initial sync may have become complete. */
  runSoon(): void {
    this.#wake.abort();
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#o;
    for (let round = 0; !signal.aborted; ) {
      this.#wake = new AbortController();
      try {
        if (this.#o.isSynced()) {
          this.#terminateOrphans();
          if (this.#o.removesOrphans && round++ % roundsPerCleanup === 0) await this.#removeOrphans();
        }
      } catch (error) {
        logger.warn("Housekeeping failed", { err: messageOf(error) });
      }
      await sleep(clock, roundMs, AbortSignal.any([signal, this.#wake.signal])).catch(() => {});
    }
  }

  #terminateOrphans(): void {
    const { inRuntime, isKnown, onOrphan, logger } = this.#o;
    for (const { uid, name, namespace } of [...inRuntime()]) {
      if (isKnown(uid) || !this.#o.mayTerminate(uid)) continue;
      logger.info("Killing orphaned pod", { pod: `${namespace}/${name}`, podUID: uid });
      onOrphan({ uid, name, namespace });
    }
  }

  /** Directories, logs and cgroups of pods that are not in the runtime either. */
  async #removeOrphans(): Promise<void> {
    const { files, cgroups, isKnown, inRuntime, logger, metrics } = this.#o;
    const isInUse = (uid: PodUid) => isKnown(uid) || [...inRuntime()].some((pod) => pod.uid === uid);
    const remove = async (what: string, uid: PodUid, work: () => Promise<void>) => {
      if (isInUse(uid)) return "in use";
      logger.info("Cleaning up orphaned pod", { podUID: uid, what });
      try {
        await work();
        return "removed";
      } catch (error) {
        // A failure must not prevent the removal of the others.
        logger.warn("Failed to clean up orphaned pod", { podUID: uid, what, err: messageOf(error) });
        return "failed";
      }
    };
    const outcomes = new Map<PodUid, string>();
    for (const pod of await files.known())
      outcomes.set(pod.uid, await remove("folders", pod.uid, () => files.remove(pod)));
    const count = (wanted: string) => [...outcomes.values()].filter((outcome) => outcome === wanted).length;
    metrics?.cleanedUp(count("removed") + count("failed"), count("failed"));
    // The memory of a volume that is still mounted would be charged to the parent cgroup.
    for (const uid of await cgroups.list())
      if (outcomes.get(uid) === "failed") await this.#reduceCpu(uid);
      else await remove("cgroup", uid, () => cgroups.remove(uid));
    await files.removeDeadLinks();
    for (const record of this.#o.records ?? []) record.keepOnly(isInUse);
  }

  async #reduceCpu(uid: PodUid): Promise<void> {
    const { cgroups, logger } = this.#o;
    logger.debug(3, "Orphaned pod found, but volumes not yet removed. Reducing cpu to minimum", {
      podUID: uid,
    });
    await cgroups.reduceCpu(uid).catch((error: unknown) => {
      logger.warn("Failed to reduce CPU of orphaned pod", { podUID: uid, err: messageOf(error) });
    });
  }
}
