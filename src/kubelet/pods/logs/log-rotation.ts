import { readdir, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { Clock } from "../../../lib/base/clock.ts";
import type { Component } from "../../../lib/base/component.ts";
import { errnoOf, isAbort, KubeletError, messageOf } from "../../../lib/base/errors.ts";
import { ConcurrencyGate } from "../../../lib/base/gate.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import { runPeriodically } from "../../../lib/base/run-periodically.ts";
import type { ContainerId, RuntimeService } from "../../../lib/clients/cri/cri.ts";
import { hasGrpcCode } from "../../../lib/clients/cri/cri-error.ts";
import { compressFile } from "./compress.ts";
import { planRotation, rotatedName } from "./rotation-plan.ts";

export interface LoggingContainer {
  id: ContainerId;
  logPath: string;
}

export interface LogRotationOptions {
  runtime: Pick<RuntimeService, "reopenContainerLog">;
  /** The containers that run now: others write no more. */
  running: () => Iterable<LoggingContainer>;
  /** From this size on a log is rotated; negative for never. */
  maxBytes: number;
  /** Files to keep of a container, with the one that it writes to. */
  maxFiles: number;
  /** Logs that may be worked on at once. */
  workers: number;
  everyMs: number;
  clock: Clock;
  logger: Logger;
}

/** Puts logs that have become too large aside, lets the runtime begin new ones, and removes the oldest. */
export class LogRotation implements Component {
  readonly name = "log-rotation";
  readonly #o: LogRotationOptions;
  readonly #gate: ConcurrencyGate;
  /** Logs that are waiting or worked on. */
  #busy = new Map<ContainerId, Promise<void>>();
  /** What went wrong last: said again only when it changes. */
  #troubles = new Map<ContainerId, string>();
  #loop: Promise<void> = Promise.resolve();

  constructor(options: LogRotationOptions) {
    this.#o = options;
    this.#gate = new ConcurrencyGate(options.workers);
  }

  get done(): Promise<void> {
    return this.#loop.then(async () => void (await Promise.all(this.#busy.values())));
  }

  async start(signal: AbortSignal): Promise<void> {
    const { clock, everyMs, maxBytes, logger } = this.#o;
    if (maxBytes < 0) return;
    this.#loop = runPeriodically(async () => this.#round(signal), {
      clock,
      everyMs,
      signal,
      onError: (error) => logger.warn("Failed to rotate logs", { err: messageOf(error) }),
    });
  }

  /** Does not wait for the work: a large log must not keep others from being looked at. */
  #round(signal: AbortSignal): void {
    const running = [...this.#o.running()];
    const ids = new Set(running.map((container) => container.id));
    for (const id of this.#troubles.keys()) if (!ids.has(id)) this.#troubles.delete(id);
    for (const container of running) {
      if (!container.logPath || this.#busy.has(container.id)) continue;
      const work = this.#gate
        .run(() => this.#watchOver(container, signal), { signal })
        .catch((error) => {
          if (!isAbort(error)) throw error;
        })
        .finally(() => this.#busy.delete(container.id));
      this.#busy.set(container.id, work);
    }
  }

  async #watchOver(container: LoggingContainer, signal: AbortSignal): Promise<void> {
    try {
      if ((await this.#sizeOf(container)) >= this.#o.maxBytes) await this.#rotate(container, signal);
      this.#troubles.delete(container.id);
    } catch (error) {
      // A container that was removed meanwhile has no log to care for.
      if (isAbort(error) || hasGrpcCode(error, "NOT_FOUND")) return;
      const trouble = messageOf(error);
      if (this.#troubles.get(container.id) === trouble) return;
      this.#troubles.set(container.id, trouble);
      const { id, logPath: path } = container;
      this.#o.logger.warn("Failed to rotate container log", { id, path, err: trouble });
    }
  }

  /** A log that somebody removed is begun anew, or what the container says would be lost for good. */
  async #sizeOf({ id, logPath }: LoggingContainer): Promise<number> {
    try {
      return (await stat(logPath)).size;
    } catch (error) {
      if (errnoOf(error) !== "ENOENT") throw error;
    }
    await this.#o.runtime.reopenContainerLog(id);
    return (await stat(logPath)).size;
  }

  async #rotate({ id, logPath }: LoggingContainer, signal: AbortSignal): Promise<void> {
    const dir = dirname(logPath);
    const prefix = `${basename(logPath)}.`;
    const rotated = (await readdir(dir)).filter((name) => name.startsWith(prefix));
    const plan = planRotation(rotated, this.#o.maxFiles);
    for (const name of plan.remove) await rm(join(dir, name), { force: true });
    for (const name of plan.compress) await compressFile(join(dir, name), signal);
    signal.throwIfAborted();
    const aside = rotatedName(logPath, this.#o.clock.wall());
    // Two in one second: the later waits for the next round, rather than overwrite the earlier.
    if (rotated.includes(basename(aside))) return;
    await rename(logPath, aside);
    try {
      // Not to be cut off: until the runtime has reopened it, it writes to the file that was put aside.
      await this.#o.runtime.reopenContainerLog(id);
    } catch (error) {
      await rename(aside, logPath).catch((failure) => {
        throw new KubeletError("LogRotation", `${aside} cannot be put back: ${messageOf(failure)}`, {
          cause: error,
        });
      });
      throw error;
    }
  }
}
