import { type Clock, sleep } from "../../base/clock.ts";
import { abortError, isAbort, KubeletError, messageOf } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import type { ContainerId, RuntimeService } from "../../clients/cri/cri.ts";
import { readContainerNotes } from "../../model/labels.ts";
import { type Container, type Lifecycle, type Pod, podRef } from "../../model/pod.ts";
import type { PodEvents } from "../../model/pod-events.ts";
import { type ObservedContainer, type ObservedPod, runningContainers } from "../../state/observed-pods.ts";
import { graceSecondsOf, shortestGraceSeconds, specOf } from "./grace.ts";
import type { KillCause } from "./plan.ts";
import { StopTurns } from "./stop-turns.ts";
import type { Stop, Stops } from "./stops.ts";

type Handler = NonNullable<Lifecycle["preStop"]>;

export interface Hooks {
  /** Rejects if the hook fails, and with an AbortError as soon as the signal is aborted. */
  run(hook: {
    pod: Pod;
    container: { name: string; ports?: Container["ports"] };
    id: ContainerId;
    handler: Handler;
    podIps: readonly string[];
    signal: AbortSignal;
  }): Promise<void>;
}

export interface KillDeps {
  runtime: Pick<RuntimeService, "stopContainer" | "stopPodSandbox">;
  hooks: Hooks;
  events: PodEvents;
  clock: Clock;
  logger: Logger;
  /** One for all passes of all pods. */
  stops: Stops;
}

export interface KillContainerOptions {
  /** Undefined if nobody knows it any more: what the container was created with counts then. */
  pod: Pod | undefined;
  seen: Pick<ObservedPod, "uid" | "name" | "namespace" | "sandboxes">;
  container: Pick<ObservedContainer, "id" | "name" | "annotations">;
  cause?: KillCause;
  /** For users; "Stopping container x" unless told. */
  message?: string;
  /** Seconds that count instead of what pod and probes say. */
  graceOverride?: number;
  turns?: StopTurns;
  signal: AbortSignal;
}

/**
 * Ends one container: its preStop hook, its turn among the others, then the runtime's stop. All of it counts against
 * one grace period, of which at least 2 s are left for the stop.
 */
export async function killContainer(deps: KillDeps, options: KillContainerOptions): Promise<void> {
  const { clock, events, stops, runtime } = deps;
  const { container, cause, graceOverride: override, signal } = options;
  const { id, name } = container;
  const pod = options.pod ?? formerPod(options.seen);
  const grace = graceSecondsOf(options.pod, container, { override, cause });
  const { stop, first } = stops.begin(options.seen.uid, id, clock.now() + grace * 1000);
  if (first) events.normal(pod, "Killing", options.message || `Stopping container ${name}`, name);
  const hook = new PreStop(deps, options, pod);
  try {
    await hook.run(stop);
    const turn = options.turns?.turnOf(name);
    if (turn) await settledIn(clock, stop.endsAt, turn, signal);
    if (signal.aborted) throw abortError(signal.reason);
    const left = Math.ceil((stop.endsAt - clock.now()) / 1000);
    await runtime.stopContainer(id, Math.max(shortestGraceSeconds, left), { signal });
  } catch (error) {
    hook.end();
    if (!signal.aborted) stops.failed(id);
    throw error;
  }
  hook.endWithContainer();
  stops.ended(id);
  options.turns?.ended(id);
}

/** Stops everything of a pod. All is tried, whatever fails; then the first failure is thrown. */
export async function killPod(
  deps: KillDeps,
  seen: ObservedPod,
  pod: Pod | undefined,
  options: { graceSeconds?: number; signal: AbortSignal },
): Promise<void> {
  const { graceSeconds: graceOverride, signal } = options;
  const running = runningContainers(seen);
  const turns = new StopTurns(pod, running);
  const attempts = await Promise.allSettled(
    running.map((container) => killContainer(deps, { pod, seen, container, graceOverride, turns, signal })),
  );
  // The sandbox of containers that still have their time is left alone.
  if (signal.aborted) throw abortError(signal.reason);
  attempts.push(
    ...(await Promise.allSettled(
      seen.sandboxes.map((sandbox) => deps.runtime.stopPodSandbox(sandbox.id, { signal })),
    )),
  );
  if (signal.aborted) throw abortError(signal.reason);
  const failure = attempts.find((a) => a.status === "rejected")?.reason;
  if (failure)
    throw new KubeletError("KillPod", `stopping the pod: ${messageOf(failure)}`, { cause: failure });
  for (const { id } of seen.containers) deps.stops.ended(id);
}

/** The preStop hook of one container, which may take longer than it should. */
class PreStop {
  readonly #deps: KillDeps;
  readonly #options: KillContainerOptions;
  readonly #pod: Pod;
  readonly #over = new AbortController();
  #handler: Handler | undefined;
  #running = false;

  constructor(deps: KillDeps, options: KillContainerOptions, pod: Pod) {
    this.#deps = deps;
    this.#options = options;
    this.#pod = pod;
  }

  /** Resolves when the hook is done, well or badly, or when the grace is used up. */
  async run(stop: Stop): Promise<void> {
    const { clock, hooks, logger } = this.#deps;
    const { pod, container, seen, signal } = this.#options;
    const { id, name } = container;
    const spec = pod && specOf(pod, name);
    const notes = readContainerNotes(container.annotations);
    const handler = spec ? spec.lifecycle?.preStop : notes.preStop;
    if (!handler || stop.preStopBegun || stop.endsAt <= clock.now()) return;
    stop.preStopBegun = true;
    this.#handler = handler;
    this.#running = true;
    const ports = spec ? spec.ports : [...notes.ports];
    const podIps = seen.sandboxes.find((s) => s.state === "ready")?.ips ?? [];
    const work = hooks
      .run({
        pod: this.#pod,
        container: { name, ports },
        id,
        handler,
        podIps,
        signal: AbortSignal.any([signal, this.#over.signal]),
      })
      .catch((error) => isAbort(error) || this.#failed(messageOf(error)))
      .finally(() => {
        this.#running = false;
      });
    const done = await settledIn(clock, stop.endsAt, work, signal);
    const fields = { pod: podRef(this.#pod), container: name };
    if (!done) logger.debug(2, "PreStop hook not completed in grace period", fields);
  }

  /** A hook that did not end in its time goes on beside the stop, and ends with its container. */
  endWithContainer(): void {
    if (this.#running && !this.#handler?.sleep) this.#failed("it did not end before its container");
    this.end();
  }

  end(): void {
    this.#over.abort();
  }

  /** What went wrong may be secret: an event says only that it did. */
  #failed(why: string): void {
    const { name } = this.#options.container;
    this.#deps.logger.error("PreStop hook failed", { pod: podRef(this.#pod), container: name, err: why });
    this.#deps.events.warning(this.#pod, "FailedPreStopHook", "PreStopHook failed", name);
  }
}

/** True if the work was done by then, false if not. Rejects when aborted. */
async function settledIn(
  clock: Clock,
  endsAt: number,
  work: Promise<unknown>,
  signal: AbortSignal,
): Promise<boolean> {
  const enough = new AbortController();
  const timeUp = sleep(clock, endsAt - clock.now(), AbortSignal.any([signal, enough.signal]));
  try {
    return await Promise.race([work.then(() => true), timeUp.then(() => false)]);
  } finally {
    enough.abort();
  }
}

/** A pod that nobody knows any more, as far as the runtime remembers it. */
function formerPod({ uid, name, namespace, sandboxes }: KillContainerOptions["seen"]): Pod {
  const hostNetwork = sandboxes.some((s) => s.hostNetwork);
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { uid, name, namespace },
    spec: { containers: [], ...(hostNetwork && { hostNetwork }) },
  };
}
