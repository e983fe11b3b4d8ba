import { type Clock, sleep } from "../base/clock.ts";
import type { Component } from "../base/component.ts";
import { messageOf } from "../base/errors.ts";
import type { Logger } from "../base/logger.ts";

/**
 * Starts components in order and stops them in reverse: each has a signal of its own, and the next one is told only
 * when the one before it is done, or took too long.
 */
export class Lifecycle {
  readonly #clock: Clock;
  readonly #logger: Logger;
  #started: { component: Component; controller: AbortController }[] = [];

  constructor(clock: Clock, logger: Logger) {
    this.#clock = clock;
    this.#logger = logger;
  }

  async start(component: Component): Promise<void> {
    const controller = new AbortController();
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

  async stop(deadlineMs: number): Promise<void> {
    const giveUpAt = this.#clock.now() + deadlineMs;
    for (const { component, controller } of this.#started.reverse()) {
      controller.abort();
      const timer = new AbortController();
      const late = sleep(this.#clock, Math.max(0, giveUpAt - this.#clock.now()), timer.signal).then(
        () => this.#logger.warn("Did not stop in time", { component: component.name }),
        () => {},
      );
      const ended = component.done.catch((error) =>
        this.#logger.error("Ended with an error", { component: component.name, err: messageOf(error) }),
      );
      await Promise.race([ended, late]);
      timer.abort();
    }
    this.#started = [];
  }
}
