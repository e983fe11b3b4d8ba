import { whenAborted } from "../../../lib/base/abort.ts";
import type { Clock } from "../../../lib/base/clock.ts";
import type { Component } from "../../../lib/base/component.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import type { Metrics } from "../../../lib/base/metrics.ts";
import type { ContainerId, RuntimeService } from "../../../lib/clients/cri/cri.ts";
import type { Container, Pod, PodUid } from "../../../lib/model/pod.ts";
import type { PodEvents } from "../../../lib/model/pod-events.ts";
import type { ObservedPod } from "../../state/observed-pods.ts";
import type { ProbeKind, ProbeOutcome, ProbeResults } from "../../state/probe-results.ts";
import { probeMetrics } from "./probe-metrics.ts";
import { type ProbeFailure, ProbeWorker, type WorkerContext } from "./probe-worker.ts";
import { createProber, type Probe, type Prober } from "./prober.ts";

export interface ProbeManagerOptions {
  clock: Clock;
  logger: Logger;
  /** A separate registry: there are many of these series, and another path serves them. */
  metrics: Metrics;
  results: ProbeResults;
  observed: { get(uid: PodUid): ObservedPod | undefined };
  runtime: Pick<RuntimeService, "execSync">;
  events: PodEvents;
  /** Addresses of pods in the host's network. */
  hostIps: () => readonly string[];
  /** From 0 to 1. */
  random: () => number;
  /**
   * The last outcome of a container that ran before its pod was added: it remains started, ready or not ready until probes
   * report otherwise. Used for startup and readiness.
   */
  previousOutcome?: (kind: ProbeKind, pod: Pod, id: ContainerId) => ProbeOutcome | undefined;
  /** Instead of real probes. */
  prober?: Prober;
}

interface PodProbes {
  terminating: boolean;
  /** In sync order: a readiness probe depends on the outcome of the startup probe. */
  workers: Map<string, ProbeWorker>;
}

/** Probes the containers of all pods and writes the outcomes to the probe results. */
export class ProbeManager implements Component {
  readonly name = "probe-manager";
  readonly #context: WorkerContext;
  readonly #pods = new Map<PodUid, PodProbes>();
  readonly #inProgress = new Set<Promise<void>>();
  #active = false;
  #done: Promise<void> = Promise.resolve();

  constructor(o: ProbeManagerOptions) {
    this.#context = {
      clock: o.clock,
      logger: o.logger,
      metrics: probeMetrics(o.metrics),
      results: o.results,
      events: o.events,
      observed: o.observed,
      prober: o.prober ?? createProber(o),
      hostIps: o.hostIps,
      random: o.random,
      previousOutcome: o.previousOutcome ?? (() => undefined),
      onStarted: (uid) => this.observed(uid),
      track: (work) => {
        this.#inProgress.add(work);
        const onSettled = () => void this.#inProgress.delete(work);
        work.then(onSettled, onSettled);
      },
    };
  }

  get done(): Promise<void> {
    return this.#done;
  }

  async start(signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#done = promise;
    this.#active = true;
    const stop = () => {
      this.#active = false;
      for (const { workers } of this.#pods.values()) for (const worker of workers.values()) worker.stop();
      this.#pods.clear();
      void Promise.allSettled(this.#inProgress).then(() => resolve());
    };
    whenAborted(signal, stop);
    if (signal.aborted) return;
    for (const uid of this.#pods.keys()) this.observed(uid);
  }

  /** Probes this pod from now on. Call it whenever the pod may have changed; cheap if it has not. */
  addPod(pod: Pod): void {
    const { uid } = pod.metadata;
    const known = this.#pods.get(uid);
    // A terminating pod gets no new probes, and none is restarted.
    if (known?.terminating) return;
    const desired = probesOf(pod);
    if (!known && desired.length === 0) return;
    const previous = known?.workers ?? new Map<string, ProbeWorker>();
    const workers = new Map<string, ProbeWorker>();
    for (const { kind, container, probe } of desired) {
      const key = `${kind}/${container.name}`;
      const worker = previous.get(key);
      if (worker?.hasProbe(probe)) {
        worker.update(pod, container);
        workers.set(key, worker);
        previous.delete(key);
      } else {
        // A changed probe does not make running containers count as found running.
        const addedAt = worker?.addedAt;
        workers.set(key, new ProbeWorker(this.#context, { kind, pod, container, probe, addedAt }));
      }
    }
    for (const worker of previous.values()) worker.remove();
    this.#pods.set(uid, { terminating: false, workers });
    this.observed(uid);
  }

  phaseChanged(uid: PodUid, phase: "syncing" | "terminating" | "terminated", pod: Pod | undefined): void {
    if (phase === "syncing" && pod) this.addPod(pod);
    else if (phase === "terminating") this.stopLivenessAndStartup(uid);
    else if (phase === "terminated") this.removePod(uid);
  }

  /** The runtime's view of the pod has changed. */
  observed(uid: PodUid): void {
    if (!this.#active) return;
    for (const worker of this.#pods.get(uid)?.workers.values() ?? []) worker.sync();
  }

  /** `previousOutcome` may know more about the containers of the pod now. */
  restore(uid: PodUid): void {
    if (!this.#active) return;
    const workers = [...(this.#pods.get(uid)?.workers.values() ?? [])];
    for (const apply of workers.map((worker) => worker.restore())) apply?.();
    // A startup probe that has passed lets the others start.
    this.observed(uid);
  }

  /** The last failures of a pod's failing probes. */
  failures(uid: PodUid): ProbeFailure[] {
    return [...(this.#pods.get(uid)?.workers.values() ?? [])].flatMap((worker) => worker.lastFailure ?? []);
  }

  /**
   * The pod is terminating: its containers must no longer be killed for a failed probe. Readiness is probed until the
   * pod has terminated.
   */
  stopLivenessAndStartup(uid: PodUid): void {
    const pod = this.#pods.get(uid);
    if (!pod || pod.terminating) return;
    pod.terminating = true;
    for (const [key, worker] of pod.workers) if (!key.startsWith("readiness/")) worker.stop();
  }

  /** Stops the probes of the pod and deletes their results. */
  removePod(uid: PodUid): void {
    const pod = this.#pods.get(uid);
    if (!pod) return;
    this.#pods.delete(uid);
    for (const worker of pod.workers.values()) worker.remove();
  }
}

interface DesiredProbe {
  kind: ProbeKind;
  container: Container;
  probe: Probe;
}

/** Startup probes first. Sidecars are the only init containers that are probed. */
function probesOf({ spec }: Pod): DesiredProbe[] {
  const sidecars = (spec.initContainers ?? []).filter((c) => c.restartPolicy === "Always");
  const kinds: ProbeKind[] = ["startup", "readiness", "liveness"];
  return kinds.flatMap((kind) =>
    [...sidecars, ...spec.containers].flatMap((container) => {
      const probe = container[`${kind}Probe`];
      return probe ? [{ kind, container, probe }] : [];
    }),
  );
}
