import type { Clock } from "../../../lib/base/clock.ts";
import type { Component } from "../../../lib/base/component.ts";
import { messageOf } from "../../../lib/base/errors.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import { runPeriodically } from "../../../lib/base/run-periodically.ts";
import type { KernelLog } from "../../../lib/host/kernel-log.ts";
import type { OomKill } from "../../../lib/model/oom-kill.ts";
import { OomParser } from "./oom-parser.ts";

export interface OomWatcherOptions {
  readonly open: () => Promise<KernelLog>;
  readonly onKill: (kill: OomKill) => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** An idle read is one system call. A blocking one would occupy a thread of the pool. */
const everyMs = 1000;

/** Reports the OOM kills of this machine, from now on. */
export class OomWatcher implements Component {
  readonly name = "oom-watcher";
  readonly #o: OomWatcherOptions;
  readonly #parser = new OomParser();
  #done: Promise<void> = Promise.resolve();

  constructor(options: OomWatcherOptions) {
    this.#o = options;
  }

  get done(): Promise<void> {
    return this.#done;
  }

  /** Pods run without it, so a kernel log that cannot be read is no error. */
  async start(signal: AbortSignal): Promise<void> {
    try {
      const log = await this.#o.open();
      this.#done = this.#follow(log, signal);
    } catch (error) {
      this.#o.logger.warn("Failed to open kernel log, OOM kills are not reported", { err: messageOf(error) });
    }
  }

  async #follow(log: KernelLog, stop: AbortSignal): Promise<void> {
    const { clock, logger } = this.#o;
    const failed = new AbortController();
    const signal = AbortSignal.any([stop, failed.signal]);
    const onError = (error: unknown) => {
      logger.warn("Failed to read kernel log, OOM kills are no longer reported", { err: messageOf(error) });
      failed.abort();
    };
    await runPeriodically(async () => this.#read(log), { clock, everyMs, signal, onError });
    log.close();
  }

  #read(log: KernelLog): void {
    for (const { text, afterGap } of log.read()) {
      if (afterGap) this.#parser.reset();
      const kill = this.#parser.next(text);
      if (kill) this.#o.onKill(kill);
    }
  }
}
