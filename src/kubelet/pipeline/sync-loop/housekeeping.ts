import { type Clock, sleep } from "../../../lib/base/clock.ts";
import type { Component } from "../../../lib/base/component.ts";
import { messageOf } from "../../../lib/base/errors.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import type { PodId, PodUid } from "../../../lib/model/pod.ts";
import type { OrphanMetrics } from "./orphan-metrics.ts";

export interface HousekeepingOptions {
  clock: Clock;
  logger: Logger;
  /** False until every source has said what it wants: before that, nothing may be called an orphan. */
  isSynced: () => boolean;
  /** True if somebody wants the pod or is busy ending it. */
  isKnown: (uid: PodUid) => boolean;
  inRuntime: () => Iterable<PodId>;
  /** False for what may be wanted by somebody that we do not hear. */
  mayEnd: (uid: PodUid) => boolean;
  onOrphan: (pod: PodId) => void;
  files: { known(): Promise<PodId[]>; remove(pod: PodId): Promise<void>; removeDeadLinks(): Promise<void> };
  cgroups: { list(): Promise<PodUid[]>; remove(uid: PodUid): Promise<void> };
  /** False if folders and cgroups may belong to pods that we do not hear of. */
  removesOrphans: boolean;
  /** What is kept of pods in files of its own. */
  records?: { keepOnly(isKnown: (uid: PodUid) => boolean): void };
  metrics?: OrphanMetrics;
}

const orphanEveryMs = 2000;
const filesEvery = 30;

/** Finds what belongs to no pod that anyone wants, and has it ended and removed. */
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

  /** It may have become known who is wanted: looks at once instead of with the next round. */
  runSoon(): void {
    this.#wake.abort();
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#o;
    for (let round = 0; !signal.aborted; ) {
      this.#wake = new AbortController();
      try {
        if (this.#o.isSynced()) {
          this.#endOrphans();
          if (this.#o.removesOrphans && round++ % filesEvery === 0) await this.#removeOrphans();
        }
      } catch (error) {
        logger.warn("Housekeeping failed", { err: messageOf(error) });
      }
      await sleep(clock, orphanEveryMs, AbortSignal.any([signal, this.#wake.signal])).catch(() => {});
    }
  }

  #endOrphans(): void {
    const { inRuntime, isKnown, onOrphan, logger } = this.#o;
    for (const { uid, name, namespace } of [...inRuntime()]) {
      if (isKnown(uid) || !this.#o.mayEnd(uid)) continue;
      logger.info("Killing orphaned pod", { pod: `${namespace}/${name}`, podUID: uid });
      onOrphan({ uid, name, namespace });
    }
  }

  /** Folders, logs and cgroups of pods that even the runtime does not know any more. */
  async #removeOrphans(): Promise<void> {
    const { files, cgroups, isKnown, inRuntime, logger, metrics } = this.#o;
    const stillThere = (uid: PodUid) => isKnown(uid) || [...inRuntime()].some((pod) => pod.uid === uid);
    const remove = async (what: string, uid: PodUid, work: () => Promise<void>) => {
      if (stillThere(uid)) return "wanted";
      logger.info("Cleaning up orphaned pod", { podUID: uid, what });
      try {
        await work();
        return "removed";
      } catch (error) {
        // One that cannot be removed yet must not keep the others.
        logger.warn("Failed to clean up orphaned pod", { podUID: uid, what, err: messageOf(error) });
        return "stays";
      }
    };
    const outcomes: string[] = [];
    for (const pod of await files.known())
      outcomes.push(await remove("folders", pod.uid, () => files.remove(pod)));
    const failed = outcomes.filter((outcome) => outcome === "stays").length;
    metrics?.swept(outcomes.filter((outcome) => outcome === "removed").length + failed, failed);
    for (const uid of await cgroups.list()) await remove("cgroup", uid, () => cgroups.remove(uid));
    await files.removeDeadLinks();
    this.#o.records?.keepOnly(stillThere);
  }
}
