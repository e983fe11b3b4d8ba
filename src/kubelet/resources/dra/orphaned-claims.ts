import { messageOf } from "../../../lib/base/errors.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import type { PodUid } from "../../../lib/model/pod.ts";
import type { ClaimManager } from "./claim-manager.ts";

/** Unprepares the claims of pods that are gone. A driver that does not respond blocks only its own claims. */
export class OrphanedClaims {
  readonly #claims: Pick<ClaimManager, "all" | "unprepare">;
  readonly #logger: Logger;
  readonly #running = new Map<PodUid, Promise<void>>();
  #signal = AbortSignal.abort();

  constructor(claims: Pick<ClaimManager, "all" | "unprepare">, logger: Logger) {
    this.#claims = claims;
    this.#logger = logger;
  }

  start(signal: AbortSignal): void {
    this.#signal = signal;
  }

  /** Called once a minute by housekeeping: what fails is retried then. */
  keepOnly(isKnown: (uid: PodUid) => boolean): void {
    if (this.#signal.aborted) return;
    const users = new Set([...this.#claims.all()].flatMap(({ pods }) => [...pods]));
    for (const uid of users)
      if (!isKnown(uid) && !this.#running.has(uid)) this.#running.set(uid, this.#unprepare(uid));
  }

  async ended(): Promise<void> {
    await Promise.all(this.#running.values());
  }

  async #unprepare(podUID: PodUid): Promise<void> {
    try {
      await this.#claims.unprepare(podUID, () => {}, this.#signal);
    } catch (error) {
      if (!this.#signal.aborted)
        this.#logger.info("Unpreparing pod resources in reconcile loop failed, will retry", {
          podUID,
          err: messageOf(error),
        });
    } finally {
      this.#running.delete(podUID);
    }
  }
}
