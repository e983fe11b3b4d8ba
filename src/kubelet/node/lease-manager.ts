import { type Clock, sleep } from "../../lib/base/clock.ts";
import type { Component } from "../../lib/base/component.ts";
import { KubeletError, messageOf } from "../../lib/base/errors.ts";
import { failureLog } from "../../lib/base/failure-log.ts";
import type { Logger } from "../../lib/base/logger.ts";
import { type LeaseSettings, newLease, renewedLease } from "./lease.ts";
import { httpStatusOf, type LeaseApi } from "./node-api.ts";
import type { Lease } from "./node-types.ts";
import { attempts, jittered, retryUntilDone } from "./retry.ts";

export interface LeaseOptions extends LeaseSettings {
  api: LeaseApi;
  /** The UID of the node in the API; rejects if it cannot be read. */
  nodeUid: (signal: AbortSignal) => Promise<string>;
  clock: Clock;
  random: () => number;
  logger: Logger;
  onRepeatedFailure?: () => void;
}

/** Renews the node lease, the heartbeat of the node, every quarter of its duration. */
export class LeaseManager implements Component {
  readonly name = "node-lease";
  readonly done: Promise<void>;
  readonly #o: LeaseOptions;
  readonly #done = Promise.withResolvers<void>();
  #latest: Lease | undefined;

  constructor(options: LeaseOptions) {
    this.#o = options;
    this.done = this.#done.promise;
  }

  async start(signal: AbortSignal): Promise<void> {
    void this.#loop(signal).finally(this.#done.resolve);
  }

  get latest(): Lease | undefined {
    return this.#latest;
  }

  async #loop(signal: AbortSignal): Promise<void> {
    const { clock, durationSeconds, random, logger } = this.#o;
    while (!signal.aborted) {
      try {
        await this.#sync(signal);
      } catch (error) {
        if (!signal.aborted)
          failureLog(logger, "error", error)("Failed to renew node lease", { err: messageOf(error) });
      }
      await sleep(clock, jittered((durationSeconds * 1000) / 4, random), signal).catch(() => {});
    }
  }

  async #sync(signal: AbortSignal): Promise<void> {
    if (this.#latest) {
      // No other client writes this lease: our last version is usually still current.
      try {
        return await this.#renew(this.#latest, signal);
      } catch (error) {
        signal.throwIfAborted();
        failureLog(this.#o.logger, "info", error)("Reading node lease again", { err: messageOf(error) });
      }
    }
    const { lease, created } = await this.#ensure(signal);
    this.#latest = lease;
    if (lease && !created) await this.#renew(lease, signal);
  }

  async #renew(from: Lease, signal: AbortSignal): Promise<void> {
    const { api, clock, logger, onRepeatedFailure } = this.#o;
    let base: Lease | undefined = from;
    let cause: unknown;
    for (let attempt = 0; attempt < attempts && base; attempt++) {
      const uid = base.metadata.ownerReferences?.length ? undefined : await this.#uid(signal);
      try {
        this.#latest = await api.update(renewedLease(base, this.#o, uid, clock.wall()), signal);
        return;
      } catch (error) {
        signal.throwIfAborted();
        cause = error;
        failureLog(
          logger,
          2,
          error,
        )("Failed to update node lease, will retry", {
          err: messageOf(error),
          attempt: attempt + 1,
        });
        const status = httpStatusOf(error);
        // Retrying does not restore a deleted lease.
        if (status === 404) break;
        if (status === 409) base = (await this.#ensure(signal)).lease;
        else if (attempt > 0) onRepeatedFailure?.();
      }
    }
    throw new KubeletError("LeaseRenewal", `lease not renewed: ${messageOf(cause)}`, { cause });
  }

  /** The existing lease, or a new one; undefined while the node does not exist. */
  async #ensure(signal: AbortSignal): Promise<{ lease: Lease | undefined; created: boolean }> {
    const { api, clock, logger } = this.#o;
    const work = async () => {
      try {
        return { lease: await api.get(signal), created: false };
      } catch (error) {
        if (httpStatusOf(error) !== 404) throw error;
      }
      const uid = await this.#uid(signal);
      if (!uid) return { lease: undefined, created: false };
      return { lease: await api.create(newLease(this.#o, uid, clock.wall()), signal), created: true };
    };
    const onError = (error: unknown, retryMs: number) =>
      failureLog(
        logger,
        "error",
        error,
      )("Failed to ensure node lease exists, will retry", {
        err: messageOf(error),
        retryMs,
      });
    return retryUntilDone(work, { clock, signal, onError });
  }

  async #uid(signal: AbortSignal): Promise<string | undefined> {
    try {
      return await this.#o.nodeUid(signal);
    } catch (error) {
      signal.throwIfAborted();
      this.#o.logger.debug(4, "Node lease has no owner yet", { err: messageOf(error) });
      return undefined;
    }
  }
}
