import { whenAborted } from "./abort.ts";
import { type Clock, msFromNow, msUntil } from "./clock.ts";
import type { Component } from "./component.ts";
import { messageOf } from "./errors.ts";
import type { Logger } from "./logger.ts";
import { endsWithin } from "./wait.ts";

/**
 * Starts components in order and stops them in reverse: each has a signal of its own, which is aborted only when the
 * component before it is done, or took too long.
 */
export class Lifecycle {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #stopping: AbortSignal | undefined;
  #started: { component: Component; controller: AbortController }[] = [];

  /** `stopping` aborts a start in progress and starts no more components; started ones run until `stop`. */
  constructor(clock: Clock, logger: Logger, stopping?: AbortSignal) {
    this.#clock = clock;
    this.#logger = logger;
    this.#stopping = stopping;
  }

  async start(component: Component): Promise<void> {
    const stopping = this.#stopping;
    stopping?.throwIfAborted();
    const controller = new AbortController();
    using _ = whenAborted(stopping, () => controller.abort());
    try {
      await component.start(controller.signal);
    } catch (error) {
      controller.abort();
      throw error;
    }
    this.#started.push({ component, controller });
    this.#logger.debug(2, "Started", { component: component.name });
  }

  get components(): readonly Component[] {
    return this.#started.map((s) => s.component);
  }

  /** A component that hangs gets half of the time that is left: those after it can still stop properly, within the deadline. */
  async stop(timeoutMs: number): Promise<void> {
    const deadline = msFromNow(this.#clock, timeoutMs);
    const stopping = this.#started.reverse();
    for (const [i, { component, controller }] of stopping.entries()) {
      controller.abort();
      const leftMs = Math.max(0, msUntil(this.#clock, deadline));
      const shareMs = i === stopping.length - 1 ? leftMs : leftMs / 2;
      const ended = component.done.catch((error) =>
        this.#logger.error("Component failed", { component: component.name, err: messageOf(error) }),
      );
      if (!(await endsWithin(this.#clock, shareMs, ended)))
        this.#logger.warn("Component did not stop in time", { component: component.name });
    }
    this.#started = [];
  }
}
