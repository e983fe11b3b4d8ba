import { orAbort } from "../../../lib/base/abort.ts";
import { abortError } from "../../../lib/base/errors.ts";

/** A pull that runs for one or more callers. */
interface SharedPull<Wait, Result> {
  readonly variant: string;
  readonly abort: AbortController;
  readonly result: Promise<Result>;
  readonly listeners: Set<(wait: Wait) => void>;
  /** The reason why it waits now. */
  wait: Wait | undefined;
}

/** Runs at most one pull of an image at a time: callers that would pull in the same way share it, others wait until it ends. */
export class SharedPulls<Wait, Result> {
  readonly #running = new Map<string, SharedPull<Wait, Result>>();

  isRunning(image: string): boolean {
    return this.#running.has(image);
  }

  /**
   * Runs the work, or joins one of the same variant that runs. The work is aborted when all of its callers are.
   * `onWait` is called with what the work waits for; `busy` stands for the end of another variant.
   */
  async run(request: {
    readonly image: string;
    readonly variant: string;
    readonly signal: AbortSignal;
    readonly onWait: (wait: Wait) => void;
    readonly busy: Wait;
    readonly work: (signal: AbortSignal, onWait: (wait: Wait) => void) => Promise<Result>;
  }): Promise<Result> {
    const { image, variant, signal, onWait, busy } = request;
    for (;;) {
      if (signal.aborted) throw abortError(signal.reason);
      const running = this.#running.get(image);
      if (!running) return this.#join(this.#start(request), signal, onWait);
      if (running.variant === variant && !running.abort.signal.aborted)
        return this.#join(running, signal, onWait);
      onWait(busy);
      const ended = running.result.then(
        () => {},
        () => {},
      );
      await orAbort(ended, signal);
    }
  }

  #start({
    image,
    variant,
    work,
  }: Parameters<SharedPulls<Wait, Result>["run"]>[0]): SharedPull<Wait, Result> {
    const abort = new AbortController();
    const listeners = new Set<(wait: Wait) => void>();
    const onWait = (wait: Wait) => {
      pull.wait = wait;
      for (const listener of listeners) listener(wait);
    };
    // Starts after the first caller listens.
    const result = Promise.resolve()
      .then(() => work(abort.signal, onWait))
      .finally(() => this.#running.delete(image));
    const pull: SharedPull<Wait, Result> = { variant, abort, result, listeners, wait: undefined };
    this.#running.set(image, pull);
    return pull;
  }

  async #join(
    { abort, result, listeners, wait }: SharedPull<Wait, Result>,
    signal: AbortSignal,
    onWait: (wait: Wait) => void,
  ): Promise<Result> {
    const listener = (next: Wait) => onWait(next);
    listeners.add(listener);
    if (wait !== undefined) onWait(wait);
    try {
      return await orAbort(result, signal);
    } catch (error) {
      if (signal.aborted && listeners.size === 1) abort.abort();
      throw error;
    } finally {
      listeners.delete(listener);
    }
  }
}
