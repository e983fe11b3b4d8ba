import { type Clock, sleep } from "../../../lib/base/clock.ts";
import type { Component } from "../../../lib/base/component.ts";
import { isAbort, messageOf } from "../../../lib/base/errors.ts";
import type { Fields, Logger } from "../../../lib/base/logger.ts";
import { msBetween, wallTime } from "../../../lib/base/time.ts";
import type { RuntimeService } from "../../../lib/clients/cri/cri.ts";
import { hasGrpcCode } from "../../../lib/clients/cri/cri-error.ts";
import { labelPodUid } from "../../../lib/model/labels.ts";
import type { PodUid } from "../../../lib/model/pod.ts";
import type { EventStreamMetrics } from "./event-stream-metrics.ts";
import type { Pleg } from "./pleg.ts";
import type { RefreshHints } from "./refresh-hints.ts";

export interface EventStreamState {
  /** True while events arrive without delay. */
  connected: boolean;
}

export interface EventStreamOptions {
  runtime: Pick<RuntimeService, "containerEvents">;
  clock: Clock;
  logger: Logger;
  hints: Pick<RefreshHints, "received">;
  /** Relists when events may have been missed. */
  pleg: Pick<Pleg, "relistSoon">;
  /** Read by PLEG, which relists less often while events arrive. */
  state?: EventStreamState;
  metrics?: EventStreamMetrics;
}

/** A runtime without events, or that ends the stream at once, is retried after this time: it may have been upgraded. */
const unsupportedRetryMs = 5 * 60_000;
const brokenRetryMs = 1000;

/**
 * Receives the runtime's own events, where it has them. They are hints only: the state of a pod is always read from the runtime. While
 * the stream is healthy the relist may be slow.
 */
export class EventStream implements Component {
  readonly name = "runtime-events";
  readonly #o: EventStreamOptions;
  readonly #state: EventStreamState;
  #loop: Promise<void> = Promise.resolve();

  constructor(options: EventStreamOptions) {
    this.#o = options;
    this.#state = options.state ?? { connected: false };
  }

  get done(): Promise<void> {
    return this.#loop;
  }

  async start(signal: AbortSignal): Promise<void> {
    this.#loop = this.#run(signal);
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#o;
    let lastLogged = "";
    while (!signal.aborted) {
      let wait = brokenRetryMs;
      let isOpen = false;
      const onOpen = () => {
        isOpen = true;
        lastLogged = "";
      };
      const log = (message: string, fields: Fields) => {
        if (lastLogged !== message) logger.info(message, fields);
        lastLogged = message;
      };
      const onUnsupported = () => {
        wait = unsupportedRetryMs;
        log("Runtime has no event stream, relisting every second", {});
      };
      try {
        await this.#receive(signal, onOpen);
        // CRI-O does so if its events are disabled.
        if (!isOpen && !signal.aborted) onUnsupported();
      } catch (error) {
        if (signal.aborted) return;
        if (hasGrpcCode(error, "UNIMPLEMENTED")) onUnsupported();
        else log("Runtime event stream failed", { err: messageOf(error) });
      } finally {
        this.#state.connected = false;
        if (!signal.aborted) this.#o.metrics?.broke();
      }
      try {
        await sleep(clock, wait, signal);
      } catch (error) {
        if (!isAbort(error)) throw error;
      }
    }
  }

  async #receive(signal: AbortSignal, onOpen: () => void): Promise<void> {
    // A runtime without events fails immediately. A runtime with events sends nothing until an event occurs.
    const cancel = this.#o.clock.after(500, () => {
      this.#state.connected = true;
      this.#o.metrics?.opened();
      this.#o.pleg.relistSoon();
      onOpen();
    });
    try {
      for await (const event of this.#o.runtime.containerEvents(signal)) {
        if (event.createdAt > 0n)
          this.#o.metrics?.received(
            msBetween(wallTime(Number(event.createdAt / 1_000_000n)), this.#o.clock.wall()),
          );
        const uid = event.podSandboxStatus?.labels[labelPodUid] ?? event.podSandboxStatus?.id;
        if (uid)
          this.#o.hints.received(uid as PodUid, { id: event.containerId, type: event.containerEventType });
        else this.#o.pleg.relistSoon();
      }
    } finally {
      cancel();
      this.#o.pleg.relistSoon();
    }
  }
}
