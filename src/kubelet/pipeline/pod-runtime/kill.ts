import { type Clock, msFromNow, msUntil } from "../../../lib/base/clock.ts";
import { abortError, KubeletError, messageOf } from "../../../lib/base/errors.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import { endsWithin } from "../../../lib/base/wait.ts";
import type { ContainerId, RuntimeService } from "../../../lib/clients/cri/cri.ts";
import type { Container, Lifecycle, Pod } from "../../../lib/model/pod.ts";
import type { PodEvents } from "../../../lib/model/pod-events.ts";
import { type ObservedContainer, type ObservedPod, runningContainers } from "../../state/observed-pods.ts";
import { graceSecondsOf, minGraceSeconds } from "./grace.ts";
import type { KillCause } from "./plan/pod-plan.ts";
import { PreStop } from "./pre-stop.ts";
import type { StopTracker } from "./stop-tracker.ts";
import { TerminationOrder } from "./termination-order.ts";

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
  /** Shared by all syncs of all pods. */
  stops: StopTracker;
}

export interface KillContainerOptions {
  /** Undefined for an orphan: its containers have no preStop hook and a short grace period. */
  pod: Pod | undefined;
  observed: Pick<ObservedPod, "uid" | "name" | "namespace" | "sandboxes">;
  container: Pick<ObservedContainer, "id" | "name">;
  cause?: KillCause;
  /** For users; "Stopping container x" by default. */
  message?: string;
  /** Seconds that override the grace periods of pod and probes. */
  graceOverride?: number;
  order?: TerminationOrder;
  signal: AbortSignal;
}

/**
 * Stops one container: its preStop hook, the wait required by the termination order, then StopContainer. All of it counts against one grace
 * period; at least 2 s remain for the stop.
 */
export async function killContainer(deps: KillDeps, options: KillContainerOptions): Promise<void> {
  const { clock, events, stops, runtime } = deps;
  const { container, cause, graceOverride: override, signal } = options;
  const { id, name } = container;
  const pod = options.pod ?? podWithoutSpec(options.observed);
  const grace = graceSecondsOf(options.pod, name, { override, cause });
  const { stop, first } = stops.start(options.observed.uid, id, msFromNow(clock, grace * 1000));
  if (first) events.normal(pod, "Killing", options.message || `Stopping container ${name}`, name);
  try {
    // Without a grace period the hook is skipped.
    if (stop.endsAt > clock.monotonic()) {
      stop.hook ??= PreStop.start(deps, options, pod);
      await stop.hook?.doneBy(stop.endsAt, signal);
    }
    const predecessors = options.order?.waitForPredecessors(name);
    if (predecessors) await endsWithin(clock, msUntil(clock, stop.endsAt), predecessors, signal);
    if (signal.aborted) throw abortError(signal.reason);
    const left = Math.ceil(msUntil(clock, stop.endsAt) / 1000);
    await runtime.stopContainer(id, Math.max(minGraceSeconds, left), { signal });
  } catch (error) {
    if (!signal.aborted) stops.failed(id);
    throw error;
  }
  stop.hook?.cancelWithContainer();
  stops.exited(id);
  options.order?.exited(id);
}

/** Stops all containers and sandboxes of a pod. Continues after failures, then throws the first one. */
export async function killPod(
  deps: KillDeps,
  observed: ObservedPod,
  pod: Pod | undefined,
  options: { graceSeconds?: number; signal: AbortSignal },
): Promise<void> {
  const { graceSeconds: graceOverride, signal } = options;
  const running = runningContainers(observed);
  const order = new TerminationOrder(pod, running);
  const attempts = await Promise.allSettled(
    running.map((container) =>
      killContainer(deps, { pod, observed, container, graceOverride, order, signal }),
    ),
  );
  // Aborted: containers may still be in their grace period, so the sandbox is kept.
  if (signal.aborted) throw abortError(signal.reason);
  attempts.push(
    ...(await Promise.allSettled(
      observed.sandboxes.map((sandbox) => deps.runtime.stopPodSandbox(sandbox.id, { signal })),
    )),
  );
  if (signal.aborted) throw abortError(signal.reason);
  const failure = attempts.find((a) => a.status === "rejected")?.reason;
  if (failure)
    throw new KubeletError("KillPod", `stopping the pod: ${messageOf(failure)}`, { cause: failure });
  for (const { id } of observed.containers) deps.stops.exited(id);
}

/** A pod without a spec, from what the runtime has of it. */
export function podWithoutSpec({ uid, name, namespace, sandboxes }: KillContainerOptions["observed"]): Pod {
  const hostNetwork = sandboxes.some((s) => s.hostNetwork);
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { uid, name, namespace },
    spec: { containers: [], ...(hostNetwork && { hostNetwork }) },
  };
}
