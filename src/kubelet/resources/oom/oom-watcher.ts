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

/**
 * A process that is killed usually ends its container, which is reported immediately. The rest, and messages that do not belong to a
 * container, can wait: a wake-up every second would be most of what an idle agent costs.
 */
const everyMs = 10_000;

/** Reports the OOM kills of this machine, from now on. */
export class OomWatcher implements Component {
  readonly name = "oom-watcher";
  readonly #o: OomWatcherOptions;
  readonly #parser = new OomParser();
  readonly #failed = new AbortController();
  #log: KernelLog | undefined;
  #done: Promise<void> = Promise.resolve();

  constructor(options: OomWatcherOptions) {
    this.#o = options;
  }

  get done(): Promise<void> {
    return this.#done;
  }

  /** Pods run without it, so a kernel log that cannot be read is not an error. */
  async start(signal: AbortSignal): Promise<void> {
    try {
      this.#log = await this.#o.open();
      this.#done = this.#follow(signal);
    } catch (error) {
      this.#o.logger.warn("Failed to open kernel log, OOM kills are not reported", { err: messageOf(error) });
    }
  }

  /** Reports the kills until now: the kernel logs a kill before the process exits. */
  containerExited(): void {
    this.#read();
  }

  async #follow(stop: AbortSignal): Promise<void> {
    const { clock } = this.#o;
    const signal = AbortSignal.any([stop, this.#failed.signal]);
    await runPeriodically(async () => this.#read(), { clock, everyMs, signal, onError: () => {} });
    this.#close();
  }

  #read(): void {
    try {
      for (const { text, afterGap } of this.#log?.read() ?? []) {
        if (afterGap) this.#parser.reset();
        const kill = this.#parser.next(text);
        if (kill) this.#o.onKill(kill);
      }
    } catch (error) {
      const message = "Failed to read kernel log, OOM kills are no longer reported";
      this.#o.logger.warn(message, { err: messageOf(error) });
      this.#close();
      this.#failed.abort();
    }
  }

  #close(): void {
    this.#log?.close();
    this.#log = undefined;
  }
}
