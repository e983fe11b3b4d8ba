import { msUntil } from "../../../lib/base/clock.ts";
import { isAbort, messageOf } from "../../../lib/base/errors.ts";
import type { MonotonicTime } from "../../../lib/base/time.ts";
import { endsWithin } from "../../../lib/base/wait.ts";
import { type Lifecycle, type Pod, podRef } from "../../../lib/model/pod.ts";
import { specOf } from "./grace.ts";
import type { KillContainerOptions, KillDeps } from "./kill.ts";
import type { StopHook } from "./stop-tracker.ts";

type Handler = NonNullable<Lifecycle["preStop"]>;

/**
 * The preStop hook of one container. It is started once and outlives the sync that started it: an aborted sync, for example because of a
 * shorter grace period, does not cancel the hook. It is canceled when its container has stopped.
 */
export class PreStop implements StopHook {
  readonly #deps: KillDeps;
  readonly #options: Pick<KillContainerOptions, "container">;
  readonly #pod: Pod;
  readonly #handler: Handler;
  readonly #abort = new AbortController();
  readonly #work: Promise<void>;
  #running = true;
  #failed = false;

  /** Undefined if the container has no hook. */
  static start(deps: KillDeps, options: KillContainerOptions, pod: Pod): PreStop | undefined {
    const spec = specOf(pod, options.container.name);
    const handler = spec?.lifecycle?.preStop;
    return handler && new PreStop(deps, options, pod, handler, spec.ports);
  }

  private constructor(
    deps: KillDeps,
    options: KillContainerOptions,
    pod: Pod,
    handler: Handler,
    ports: NonNullable<ReturnType<typeof specOf>>["ports"],
  ) {
    const { container, observed } = options;
    this.#deps = deps;
    this.#options = { container };
    this.#pod = pod;
    this.#handler = handler;
    const podIps = observed.sandboxes.find((s) => s.state === "ready")?.ips ?? [];
    this.#work = deps.hooks
      .run({
        pod,
        container: { name: container.name, ports },
        id: container.id,
        handler,
        podIps,
        signal: this.#abort.signal,
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

  /** Resolves when the hook has succeeded or failed, or at the deadline. Rejects when aborted. */
  async doneBy(endsAt: MonotonicTime, signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#deps;
    if (await endsWithin(clock, msUntil(clock, endsAt), this.#work, signal)) return;
    const fields = { pod: podRef(this.#pod), container: this.#options.container.name };
    logger.debug(2, "PreStop hook not completed in grace period", fields);
  }

  /** A hook that exceeds the grace period continues during the stop, and is canceled when its container has stopped. */
  cancelWithContainer(): void {
    if (this.#running && !this.#handler.sleep) this.#fail("it did not finish before its container stopped");
    this.cancel();
  }

  cancel(): void {
    this.#abort.abort();
  }

  /** The error may contain secrets: the event does not include it. */
  #fail(why: string): void {
    this.#failed = true;
    const { name } = this.#options.container;
    this.#deps.logger.error("PreStop hook failed", { pod: podRef(this.#pod), container: name, err: why });
    this.#deps.events.warning(this.#pod, "FailedPreStopHook", "PreStopHook failed", name);
  }
}
