import { whenAborted } from "../../base/abort.ts";
import { type Clock, msFromNow, sleep } from "../../base/clock.ts";
import type { Component } from "../../base/component.ts";
import { messageOf } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import type { FinishedSpan } from "../../base/tracing/tracer.ts";
import type { Collector } from "./collector.ts";

export interface SpanExporterOptions {
  readonly collector: Collector;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The defaults of OpenTelemetry. */
const maxQueueSize = 2048;
const maxBatchSize = 512;
const batchMs = 5000;
const firstRetryMs = 1000;
const maxRetryMs = 30_000;
/** A batch that was not accepted for this long is dropped. */
const retryForMs = 60_000;
/** Timeout of the last export when the agent stops. */
const flushMs = 2000;

/**
 * Exports spans to the collector, in batches, one at a time. A collector that is unavailable, slow or broken costs only
 * spans: no caller waits, the queue is bounded, and overflow is dropped and counted.
 */
export class SpanExporter implements Component {
  readonly name = "trace-exporter";
  readonly #o: SpanExporterOptions;
  #waiting: FinishedSpan[] = [];
  #dropped = 0;
  #hasFailed = false;
  #cancelTimer: (() => void) | undefined;
  #sending: Promise<void> | undefined;
  readonly #stop = new AbortController();
  readonly #ended = Promise.withResolvers<void>();

  constructor(options: SpanExporterOptions) {
    this.#o = options;
  }

  get done(): Promise<void> {
    return this.#ended.promise;
  }

  get dropped(): number {
    return this.#dropped;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  async start(signal: AbortSignal): Promise<void> {
    const stop = () => void this.#flush();
    whenAborted(signal, stop);
  }

  add(span: FinishedSpan): void {
    if (this.#stop.signal.aborted || this.#waiting.length >= maxQueueSize) {
      this.#dropped++;
      return;
    }
    this.#waiting.push(span);
    if (this.#sending) return;
    if (this.#waiting.length >= maxBatchSize) this.#send();
    else this.#cancelTimer ??= this.#o.clock.after(batchMs, () => this.#send());
  }

  #send(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    if (this.#sending || this.#waiting.length === 0) return;
    this.#sending = this.#sendAll().finally(() => {
      this.#sending = undefined;
    });
  }

  /** Continues while there is a full batch; the rest waits for more. On stop, everything is sent. */
  async #sendAll(): Promise<void> {
    do await this.#deliver(this.#waiting.splice(0, maxBatchSize));
    while (this.#waiting.length >= maxBatchSize && !this.#stop.signal.aborted);
    if (this.#waiting.length > 0 && !this.#stop.signal.aborted)
      this.#cancelTimer ??= this.#o.clock.after(batchMs, () => this.#send());
  }

  async #deliver(batch: readonly FinishedSpan[]): Promise<void> {
    const { collector, clock } = this.#o;
    const { signal } = this.#stop;
    const giveUpAt = msFromNow(clock, retryForMs);
    for (let retryMs = firstRetryMs; ; retryMs = Math.min(2 * retryMs, maxRetryMs)) {
      try {
        const { rejected } = await collector.send(batch, signal);
        this.#dropped += rejected;
        return this.#succeeded();
      } catch (error) {
        this.#failed(error);
        if (signal.aborted || !collector.mayRetry(error) || msFromNow(clock, retryMs) > giveUpAt) break;
        await sleep(clock, retryMs, signal).catch(() => {});
      }
    }
    this.#dropped += batch.length;
  }

  #succeeded(): void {
    if (!this.#hasFailed) return;
    this.#hasFailed = false;
    this.#o.logger.info("Exporting traces resumed", { dropped: this.#dropped });
  }

  /** Logs an outage only once. */
  #failed(error: unknown): void {
    if (this.#hasFailed || this.#stop.signal.aborted) return;
    this.#hasFailed = true;
    this.#o.logger.warn("Failed to export traces", { err: messageOf(error) });
  }

  /** Sends the remaining spans, within a short timeout. */
  async #flush(): Promise<void> {
    const { clock, collector } = this.#o;
    this.#cancelTimer?.();
    const cancel = clock.after(flushMs, () => this.#stop.abort());
    // Does not wait for retries of an unavailable collector.
    if (this.#hasFailed) this.#stop.abort();
    await this.#sending;
    while (this.#waiting.length > 0 && !this.#stop.signal.aborted)
      await this.#deliverOnce(this.#waiting.splice(0, maxBatchSize));
    cancel();
    this.#dropped += this.#waiting.length;
    this.#waiting = [];
    this.#stop.abort();
    collector.close();
    this.#ended.resolve();
  }

  async #deliverOnce(batch: readonly FinishedSpan[]): Promise<void> {
    try {
      await this.#o.collector.send(batch, this.#stop.signal);
    } catch {
      this.#dropped += batch.length;
      this.#stop.abort();
    }
  }
}
