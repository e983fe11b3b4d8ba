import type { Clock } from "../../../lib/base/clock.ts";
import type { Component } from "../../../lib/base/component.ts";
import { messageOf } from "../../../lib/base/errors.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import { WakeUp } from "../../../lib/base/wait.ts";
import type { PodId, PodUid } from "../../../lib/model/pod.ts";
import type { InitialSync } from "./initial-sync.ts";
import type { OrphanMetrics } from "./orphan-metrics.ts";

export interface HousekeepingOptions {
  clock: Clock;
  logger: Logger;
  /** False until every source is ready and the runtime was listed: before that nothing is an orphan. */
  initialSync: Pick<InitialSync, "isComplete">;
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
/** Links and records of pods that are gone disturb no one for a minute. */
const roundsPerTidyUp = 30;

/** Finds orphaned pods and their files and cgroups, and has them terminated and removed. */
export class Housekeeping implements Component {
  readonly name = "housekeeping";
  readonly #o: HousekeepingOptions;
  #loop: Promise<void> = Promise.resolve();
  readonly #wake = new WakeUp();
  #removal: Promise<void> | undefined;
  /** The error of what could not be removed in the last round. */
  #failed = new Map<string, string>();

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
    this.#wake.notify();
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#o;
    for (let round = 0; !signal.aborted; ) {
      this.#wake.reset();
      if (this.#o.initialSync.isComplete()) {
        this.#terminateOrphans();
        // A volume that cannot be unmounted must not delay the termination of other orphans.
        if (this.#o.removesOrphans)
          this.#removal ??= this.#clean(round++ % roundsPerTidyUp === 0)
            .catch((error) => logger.warn("Housekeeping failed", { err: messageOf(error) }))
            .finally(() => {
              this.#removal = undefined;
            });
      }
      await this.#wake.wait(clock, roundMs, signal);
    }
    await this.#removal;
  }

  async #clean(tidyUp: boolean): Promise<void> {
    await this.#removeOrphans();
    if (!tidyUp) return;
    await this.#o.files.removeDeadLinks();
    for (const record of this.#o.records ?? []) record.keepOnly((uid) => this.#isInUse(uid));
  }

  #isInUse(uid: PodUid): boolean {
    return this.#o.isKnown(uid) || [...this.#o.inRuntime()].some((pod) => pod.uid === uid);
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
    const { files, cgroups, logger, metrics } = this.#o;
    const failedBefore = this.#failed;
    this.#failed = new Map();
    const remove = async (what: string, uid: PodUid, work: () => Promise<void>) => {
      if (this.#isInUse(uid)) return "in use";
      const key = `${what} ${uid}`;
      const before = failedBefore.get(key);
      if (before === undefined) logger.info("Cleaning up orphaned pod", { podUID: uid, what });
      try {
        await work();
        return "removed";
      } catch (error) {
        // A failure must not prevent the removal of the others.
        const err = messageOf(error);
        this.#failed.set(key, err);
        if (err !== before) logger.warn("Failed to clean up orphaned pod", { podUID: uid, what, err });
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
