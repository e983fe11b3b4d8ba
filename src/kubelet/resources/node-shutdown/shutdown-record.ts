import { join } from "node:path";
import { messageOf } from "../../../lib/base/errors.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import type { Metrics } from "../../../lib/base/metrics.ts";
import { dateOf, epochMs, type WallTime, wallTime } from "../../../lib/base/time.ts";
import { CheckpointFile } from "../../../lib/host/checkpoint-file.ts";
import { replaceDurably } from "../../../lib/host/durable-file.ts";

/** The last graceful shutdown of this node. */
export interface LastShutdown {
  readonly start: WallTime;
  /** Undefined while it is in progress, or if it was not completed. */
  readonly end?: WallTime | undefined;
}

/** A time that is not set, as the reference kubelet writes it. */
const unset = "0001-01-01T00:00:00Z";

/** When the last shutdown began and ended: a file, so that it is known after the reboot, and two metrics. */
export class ShutdownRecord {
  readonly #file: CheckpointFile;
  readonly #logger: Logger;
  readonly #start: { set(value: number): void };
  readonly #end: { set(value: number): void };
  #last: LastShutdown | undefined;

  constructor(o: { readonly rootDir: string; readonly logger: Logger; readonly metrics: Metrics }) {
    const path = join(o.rootDir, "graceful_node_shutdown_state");
    this.#logger = o.logger;
    this.#file = new CheckpointFile({
      path,
      content: () => encodeShutdown(this.#last),
      onError: (error) =>
        o.logger.error("Failed to store graceful shutdown state", { path, err: messageOf(error) }),
      write: (to, text) => replaceDurably(to, text, 0o644),
    });
    this.#start = o.metrics.gauge({
      name: "kubelet_graceful_shutdown_start_time_seconds",
      help: "Last graceful shutdown start time since unix epoch in seconds",
    });
    this.#end = o.metrics.gauge({
      name: "kubelet_graceful_shutdown_end_time_seconds",
      help: "Last graceful shutdown end time since unix epoch in seconds",
    });
  }

  get last(): LastShutdown | undefined {
    return this.#last;
  }

  /** Nothing depends on the previous shutdown: a file that cannot be read is only logged. */
  async load(): Promise<void> {
    try {
      const text = await this.#file.read();
      if (text !== undefined) this.#publish(decodeShutdown(text));
    } catch (error) {
      this.#logger.error("Failed to load graceful shutdown state", {
        path: this.#file.path,
        err: messageOf(error),
      });
    }
  }

  /** Never rejects: a shutdown does not depend on its record. */
  async store(shutdown: LastShutdown): Promise<void> {
    this.#publish(shutdown);
    await this.#file.save().catch(() => {});
  }

  #publish(shutdown: LastShutdown | undefined): void {
    this.#last = shutdown;
    this.#start.set(secondsOf(shutdown?.start));
    this.#end.set(secondsOf(shutdown?.end));
  }
}

function secondsOf(time: WallTime | undefined): number {
  return time === undefined ? 0 : Math.floor(epochMs(time) / 1000);
}

function encodeShutdown({ start, end }: Partial<LastShutdown> = {}): string {
  const text = (time: WallTime | undefined) => (time === undefined ? unset : dateOf(time).toISOString());
  return JSON.stringify({ startTime: text(start), endTime: text(end) });
}

/** Undefined if the file has no start. Throws if it is invalid, with the reason. */
function decodeShutdown(text: string): LastShutdown | undefined {
  const { startTime, endTime } = (JSON.parse(text) ?? {}) as { startTime?: unknown; endTime?: unknown };
  const start = timeOf("startTime", startTime);
  return start === undefined ? undefined : { start, end: timeOf("endTime", endTime) };
}

function timeOf(field: string, value: unknown): WallTime | undefined {
  if (value === undefined || value === unset) return undefined;
  const time = typeof value === "string" ? wallTime(value) : undefined;
  if (time === undefined || Number.isNaN(epochMs(time))) throw new Error(`${field}: not a time`);
  return time;
}
