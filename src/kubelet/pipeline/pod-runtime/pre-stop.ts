import { type Clock, msUntil, sleep } from "../../../lib/base/clock.ts";
import { isAbort, messageOf } from "../../../lib/base/errors.ts";
import type { MonotonicTime } from "../../../lib/base/time.ts";
import { readContainerInfo } from "../../../lib/model/labels.ts";
import { type Lifecycle, type Pod, podRef } from "../../../lib/model/pod.ts";
import { specOf } from "./grace.ts";
import type { KillContainerOptions, KillDeps } from "./kill.ts";
import type { StopHook } from "./stop-tracker.ts";

type Handler = NonNullable<Lifecycle["preStop"]>;

/**
 * The preStop hook of one container. It is begun once and outlives the pass that began it: a pass that is cut off, because
 * somebody wants the pod ended otherwise, does not take the hook with it. Its end is that of its container at the latest.
 */
export class PreStop implements StopHook {
  readonly #deps: KillDeps;
  readonly #options: Pick<KillContainerOptions, "container">;
  readonly #pod: Pod;
  readonly #handler: Handler;
  readonly #over = new AbortController();
  readonly #work: Promise<void>;
  #running = true;
  #failed = false;

  /** Undefined if the container has none. */
  static begin(deps: KillDeps, options: KillContainerOptions, pod: Pod): PreStop | undefined {
    const { name, annotations } = options.container;
    const spec = options.pod && specOf(options.pod, name);
    const notes = readContainerInfo(annotations);
    const handler = spec ? spec.lifecycle?.preStop : notes.preStop;
    if (!handler) return undefined;
    return new PreStop(deps, options, pod, handler, spec ? spec.ports : [...notes.ports]);
  }

  private constructor(
    deps: KillDeps,
    options: KillContainerOptions,
    pod: Pod,
    handler: Handler,
    ports: NonNullable<ReturnType<typeof specOf>>["ports"],
  ) {
    const { container, seen } = options;
    this.#deps = deps;
    this.#options = { container };
    this.#pod = pod;
    this.#handler = handler;
    const podIps = seen.sandboxes.find((s) => s.state === "ready")?.ips ?? [];
    this.#work = deps.hooks
      .run({
        pod,
        container: { name: container.name, ports },
        id: container.id,
        handler,
        podIps,
        signal: this.#over.signal,
      })
      .catch((error) => {
        if (!isAbort(error)) this.#fail(messageOf(error));
      })
      .finally(() => {
        this.#running = false;
      });
  }

  get failed(): boolean {
    return this.#failed;
  }

  get running(): boolean {
    return this.#running;
  }

  /** Resolves when the hook is done, well or badly, or when the time is up. Rejects when aborted. */
  async doneBy(endsAt: MonotonicTime, signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#deps;
    if (await settledIn(clock, endsAt, this.#work, signal)) return;
    const fields = { pod: podRef(this.#pod), container: this.#options.container.name };
    logger.debug(2, "PreStop hook not completed in grace period", fields);
  }

  /** A hook that did not end in its time goes on beside the stop, and ends with its container. */
  endWithContainer(): void {
    if (this.#running && !this.#handler.sleep) this.#fail("it did not end before its container");
    this.end();
  }

  end(): void {
    this.#over.abort();
  }

  /** What went wrong may be secret: an event says only that it did. */
  #fail(why: string): void {
    this.#failed = true;
    const { name } = this.#options.container;
    this.#deps.logger.error("PreStop hook failed", { pod: podRef(this.#pod), container: name, err: why });
    this.#deps.events.warning(this.#pod, "FailedPreStopHook", "PreStopHook failed", name);
  }
}

/** True if the work was done by then, false if not. Rejects when aborted. */
export async function settledIn(
  clock: Clock,
  endsAt: MonotonicTime,
  work: Promise<unknown>,
  signal: AbortSignal,
): Promise<boolean> {
  const enough = new AbortController();
  const timeUp = sleep(clock, msUntil(clock, endsAt), AbortSignal.any([signal, enough.signal]));
  try {
    return await Promise.race([work.then(() => true), timeUp.then(() => false)]);
  } finally {
    enough.abort();
  }
}
