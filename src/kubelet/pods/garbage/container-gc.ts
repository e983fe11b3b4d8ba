import type { Clock } from "../../../lib/base/clock.ts";
import type { Component } from "../../../lib/base/component.ts";
import { isAbort, KubeletError, messageOf } from "../../../lib/base/errors.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import { runPeriodically } from "../../../lib/base/run-periodically.ts";
import type { Tracer } from "../../../lib/base/tracing/tracer.ts";
import type { RuntimeService, SandboxId } from "../../../lib/clients/cri/cri.ts";
import type { PodUid } from "../../../lib/model/pod.ts";
import type { NodeEvents } from "../../../lib/model/pod-events.ts";
import type { Pleg } from "../../pipeline/pleg/pleg.ts";
import type { PodFiles } from "../../pipeline/pod-runtime/pod-files.ts";
import type { ObservedPod } from "../../state/observed-pods.ts";
import {
  type ContainerGcPolicy,
  type DeadContainer,
  type PodGcState,
  planContainerGc,
} from "./container-plan.ts";

export interface ContainerGcOptions {
  runtime: Pick<RuntimeService, "stopContainer" | "removeContainer" | "stopPodSandbox" | "removePodSandbox">;
  observed: { all(): Iterable<ObservedPod> };
  gcState: (uid: PodUid) => PodGcState;
  /** Removes the logs of a container that was removed. */
  files: Pick<PodFiles, "removeLogs">;
  /** Relists the pod after something was removed. */
  pleg: Pick<Pleg, "refresh">;
  policy: ContainerGcPolicy;
  clock: Clock;
  logger: Logger;
  events: Pick<NodeEvents, "warning">;
  tracer?: Tracer | undefined;
}

const everyMs = 60_000;
const graceSeconds = 30;

/** Removes dead containers and sandboxes according to the policy. */
export class ContainerGc implements Component {
  readonly name = "container-gc";
  readonly #o: ContainerGcOptions;
  #loop: Promise<void> = Promise.resolve();

  constructor(options: ContainerGcOptions) {
    this.#o = options;
  }

  get done(): Promise<void> {
    return this.#loop;
  }

  async start(signal: AbortSignal): Promise<void> {
    const { clock, events, logger } = this.#o;
    this.#loop = runPeriodically(() => this.collect({ signal }), {
      clock,
      everyMs,
      signal,
      onError: (error) => {
        logger.warn("Container garbage collection failed", { err: messageOf(error) });
        events.warning("ContainerGCFailed", messageOf(error));
      },
    });
  }

  /** Removes dead containers. To reclaim space, `removeTerminated` also removes all containers of terminated pods. */
  collect(options: { signal?: AbortSignal; removeTerminated?: boolean } = {}): Promise<void> {
    const { tracer } = this.#o;
    const work = () => this.#collect(options);
    return tracer ? tracer.run("Containers/GarbageCollect", {}, work) : work();
  }

  async #collect({
    signal,
    removeTerminated,
  }: {
    signal?: AbortSignal;
    removeTerminated?: boolean;
  }): Promise<void> {
    const { observed, gcState, policy, clock, runtime, pleg } = this.#o;
    const plan = planContainerGc(
      { pods: observed.all(), gcState, now: clock.wall(), removeTerminated },
      policy,
    );
    const failures: string[] = [];
    const changed = new Set<PodUid>();
    const notEmpty = new Set<SandboxId>();
    const attempt = async (pod: ObservedPod, what: string, work: () => Promise<unknown>) => {
      signal?.throwIfAborted();
      changed.add(pod.uid);
      try {
        await work();
        return true;
      } catch (error) {
        if (isAbort(error)) throw error;
        failures.push(`${what}: ${messageOf(error)}`);
        return false;
      }
    };
    try {
      for (const dead of plan.containers) {
        const { pod, container } = dead;
        const done = await attempt(pod, `container ${container.id}`, () => this.#remove(dead, signal));
        if (!done) notEmpty.add(container.sandboxId);
      }
      for (const { pod, sandbox } of plan.sandboxes) {
        if (notEmpty.has(sandbox.id)) continue;
        await attempt(pod, `sandbox ${sandbox.id}`, async () => {
          await runtime.stopPodSandbox(sandbox.id, { signal });
          await runtime.removePodSandbox(sandbox.id, { signal });
        });
      }
    } finally {
      await Promise.allSettled([...changed].map((uid) => pleg.refresh(uid)));
    }
    if (failures.length > 0)
      throw new KubeletError("ContainerGC", `cannot be removed: ${failures.join("; ")}`);
  }

  async #remove({ pod, container }: DeadContainer, signal: AbortSignal | undefined): Promise<void> {
    const { runtime, files, logger } = this.#o;
    // It may still be running.
    if (container.state === "unknown") await runtime.stopContainer(container.id, graceSeconds, { signal });
    await runtime.removeContainer(container.id, { signal });
    logger.debug(2, "Removed dead container", {
      pod: `${pod.namespace}/${pod.name}`,
      podUID: pod.uid,
      container: container.name,
      id: container.id,
    });
    await files.removeLogs(pod, container);
  }
}
