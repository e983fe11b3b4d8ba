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
import { type ProbeTrouble, ProbeWorker, type WorkerContext } from "./probe-worker.ts";
import { createProber, type Probe, type Prober } from "./prober.ts";

export interface ProbeManagerOptions {
  clock: Clock;
  logger: Logger;
  /** A registry of its own: these series are many, and are served apart from the others. */
  metrics: Metrics;
  results: ProbeResults;
  observed: { get(uid: PodUid): ObservedPod | undefined };
  runtime: Pick<RuntimeService, "execSync">;
  events: PodEvents;
  /** Where pods of the host's network are reached. */
  hostIps: () => readonly string[];
  /** From 0 to 1. */
  random: () => number;
  /**
   * What is known of a container that ran before its pod arrived: it stays started, ready or not ready until probes
   * report otherwise. Used for startup and readiness.
   */
  before?: (kind: ProbeKind, pod: Pod, id: ContainerId) => ProbeOutcome | undefined;
  /** Instead of asking for real. */
  prober?: Prober;
}

interface PodProbes {
  terminating: boolean;
  /** In the order in which they look: a readiness probe has to know what became of the startup probe. */
  workers: Map<string, ProbeWorker>;
}

/** Probes the containers of all pods and writes what comes of it to the probe results. */
export class ProbeManager implements Component {
  readonly name = "probe-manager";
  readonly #context: WorkerContext;
  readonly #pods = new Map<PodUid, PodProbes>();
  readonly #underWay = new Set<Promise<void>>();
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
      before: o.before ?? (() => undefined),
      onStarted: (uid) => this.observed(uid),
      track: (work) => {
        this.#underWay.add(work);
        const ended = () => void this.#underWay.delete(work);
        work.then(ended, ended);
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
      void Promise.allSettled(this.#underWay).then(() => resolve());
    };
    if (signal.aborted) return stop();
    signal.addEventListener("abort", stop, { once: true });
    for (const uid of this.#pods.keys()) this.observed(uid);
  }

  /** Probes this pod from now on. To be called whenever the pod may have changed; costs nothing if it has not. */
  watch(pod: Pod): void {
    const { uid } = pod.metadata;
    const known = this.#pods.get(uid);
    // What ends gets no new probes, and none is taken up again.
    if (known?.terminating) return;
    const wanted = probesOf(pod);
    if (!known && wanted.length === 0) return;
    const former = known?.workers ?? new Map<string, ProbeWorker>();
    const workers = new Map<string, ProbeWorker>();
    for (const { kind, container, probe } of wanted) {
      const key = `${kind}/${container.name}`;
      const worker = former.get(key);
      if (worker?.asks(probe)) {
        worker.update(pod, container);
        workers.set(key, worker);
        former.delete(key);
      } else {
        // The containers of a pod that has another probe now are not found for that.
        const watchedSince = worker?.watchedSince;
        workers.set(key, new ProbeWorker(this.#context, { kind, pod, container, probe, watchedSince }));
      }
    }
    for (const worker of former.values()) worker.forget();
    this.#pods.set(uid, { terminating: false, workers });
    this.observed(uid);
  }

  /** A pod begins, begins to end, or has nothing that runs any more. */
  phaseChanged(uid: PodUid, phase: "syncing" | "terminating" | "terminated", pod: Pod | undefined): void {
    if (phase === "syncing" && pod) this.watch(pod);
    else if (phase === "terminating") this.stopForTermination(uid);
    else if (phase === "terminated") this.forget(uid);
  }

  /** The runtime's view of the pod has changed. */
  observed(uid: PodUid): void {
    if (!this.#active) return;
    for (const worker of this.#pods.get(uid)?.workers.values() ?? []) worker.look();
  }

  /** More is known of what the containers of the pod were before (`before`). */
  recall(uid: PodUid): void {
    if (!this.#active) return;
    const workers = [...(this.#pods.get(uid)?.workers.values() ?? [])];
    for (const believe of workers.map((worker) => worker.recall())) believe?.();
    // A startup probe that has passed lets the others begin.
    this.observed(uid);
  }

  /** What the probes of a pod say that do not pass. */
  troubles(uid: PodUid): ProbeTrouble[] {
    return [...(this.#pods.get(uid)?.workers.values() ?? [])].flatMap((worker) => worker.trouble ?? []);
  }

  /**
   * The pod is being ended: nobody may kill its containers for a failed probe any more. Whether it is ready is asked
   * until it is gone.
   */
  stopForTermination(uid: PodUid): void {
    const pod = this.#pods.get(uid);
    if (!pod || pod.terminating) return;
    pod.terminating = true;
    for (const [key, worker] of pod.workers) if (!key.startsWith("readiness/")) worker.stop();
  }

  /** The pod is gone, and everything that is known of its probes goes with it. */
  forget(uid: PodUid): void {
    const pod = this.#pods.get(uid);
    if (!pod) return;
    this.#pods.delete(uid);
    for (const worker of pod.workers.values()) worker.forget();
  }
}

interface WantedProbe {
  kind: ProbeKind;
  container: Container;
  probe: Probe;
}

/** Startup probes first. Init containers are probed only if they run beside the others. */
function probesOf({ spec }: Pod): WantedProbe[] {
  const sidecars = (spec.initContainers ?? []).filter((c) => c.restartPolicy === "Always");
  const kinds: ProbeKind[] = ["startup", "readiness", "liveness"];
  return kinds.flatMap((kind) =>
    [...sidecars, ...spec.containers].flatMap((container) => {
      const probe = container[`${kind}Probe`];
      return probe ? [{ kind, container, probe }] : [];
    }),
  );
}
