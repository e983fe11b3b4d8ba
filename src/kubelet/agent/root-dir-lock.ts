import { join } from "node:path";
import { whenAborted } from "../../lib/base/abort.ts";
import { type Clock, sleep } from "../../lib/base/clock.ts";
import type { Component } from "../../lib/base/component.ts";
import { KubeletError } from "../../lib/base/errors.ts";
import type { Logger } from "../../lib/base/logger.ts";
import { type FileLock, lockFile } from "../../lib/host/file-lock.ts";

/** An agent that is being replaced needs at most this long to stop. */
const freeWithinMs = 12_000;
const retryMs = 100;

/** Prevents a second agent from using the same root directory. Started before its users and stopped after them. */
export class RootDirLock implements Component {
  readonly name = "root-dir-lock";
  readonly #o: { rootDir: string; clock: Clock; logger: Logger; waitMs?: number };
  readonly #done = Promise.withResolvers<void>();

  constructor(o: { rootDir: string; clock: Clock; logger: Logger; waitMs?: number }) {
    this.#o = o;
  }

  get done(): Promise<void> {
    return this.#done.promise;
  }

  async start(signal: AbortSignal): Promise<void> {
    const lock = await this.#acquire(signal);
    const release = () => {
      lock.release();
      this.#done.resolve();
    };
    whenAborted(signal, release);
  }

  async #acquire(signal: AbortSignal): Promise<FileLock> {
    const { rootDir, clock, logger, waitMs = freeWithinMs } = this.#o;
    // Counted: the clock may be set in the meantime.
    for (let left = waitMs / retryMs; ; left--) {
      const lock = await lockFile(join(rootDir, "kubelet.lock"), { dirMode: 0o750 });
      if (lock.kind === "acquired") return lock;
      const { holder } = lock;
      if (left <= 0) {
        const by = holder === undefined ? "another kubelet" : `another kubelet (process ${holder})`;
        throw new KubeletError("AlreadyRunning", `root directory ${rootDir} is in use by ${by}`);
      }
      if (left === waitMs / retryMs)
        logger.info("Root directory is in use, waiting for the other kubelet to exit", { rootDir, holder });
      await sleep(clock, retryMs, signal);
    }
  }
}
