import { EventStream } from "../../src/kubelet/pipeline/pleg/event-stream.ts";
import { Pleg } from "../../src/kubelet/pipeline/pleg/pleg.ts";
import { RefreshHints } from "../../src/kubelet/pipeline/pleg/refresh-hints.ts";
import type { StartKind } from "../../src/kubelet/pipeline/pod-runtime/pod-runtime.ts";
import { PodRuntime, type PodRuntimeOptions } from "../../src/kubelet/pipeline/pod-runtime/pod-runtime.ts";
import type { ActiveDeadline } from "../../src/kubelet/pipeline/pod-workers/pod-syncer.ts";
import { PodWorkers } from "../../src/kubelet/pipeline/pod-workers/pod-workers.ts";
import { StatusManager } from "../../src/kubelet/pipeline/status-manager/status-manager.ts";
import type { EventHandlers } from "../../src/kubelet/pipeline/sync-loop/event-table.ts";
import { Housekeeping } from "../../src/kubelet/pipeline/sync-loop/housekeeping.ts";
import { InitialSync } from "../../src/kubelet/pipeline/sync-loop/initial-sync.ts";
import { applyToDesired, applyToWorkers } from "../../src/kubelet/pipeline/sync-loop/pod-dispatch.ts";
import { SyncLoop } from "../../src/kubelet/pipeline/sync-loop/sync-loop.ts";
import { ProbeManager } from "../../src/kubelet/pods/probes/probe-manager.ts";
import type { Prober } from "../../src/kubelet/pods/probes/prober.ts";
import { DesiredPods } from "../../src/kubelet/state/desired-pods.ts";
import { ObservedPods } from "../../src/kubelet/state/observed-pods.ts";
import { PodStatuses } from "../../src/kubelet/state/pod-statuses.ts";
import { ProbeResults } from "../../src/kubelet/state/probe-results.ts";
import { ReplacedContainers } from "../../src/kubelet/state/replaced-containers.ts";
import { StartingContainers } from "../../src/kubelet/state/starting-containers.ts";
import { WorkerStates } from "../../src/kubelet/state/worker-states.ts";
import type { Clock } from "../../src/lib/base/clock.ts";
import { ConcurrencyLimiter } from "../../src/lib/base/concurrency-limiter.ts";
import { settle } from "../../src/lib/base/fake-clock.ts";
import { silentLogger } from "../../src/lib/base/logger.ts";
import { createMetrics } from "../../src/lib/base/metrics.ts";
import { fullNameOf, type Pod, type PodUid } from "../../src/lib/model/pod.ts";
import type { PodFailure } from "../../src/lib/model/pod-failure.ts";
import { isTerminalPhase } from "../../src/lib/model/pod-phase.ts";
import { plainRequests } from "../builders/requests.ts";
import type { CallBehavior, InMemoryRuntime } from "../fake-runtime/in-memory.ts";
import { SimulatedHost } from "./simulated-host.ts";

export interface SimulatedAgentOptions {
  runtime: InMemoryRuntime;
  clock: Clock;
  host?: SimulatedHost;
  behavior: (method: string, request: unknown) => CallBehavior;
  onCall: (method: string, request: unknown, late: boolean) => void;
  requests?: PodRuntimeOptions["requests"];
  maxRestartDelayMs?: number;
  admit?: (pod: Pod) => PodFailure | undefined;
  hooks?: PodRuntimeOptions["hooks"];
  prober?: (results: ProbeResults) => Prober;
  /** Called when the status of a pod was computed. */
  onStatus?: (pod: Pod, phase: string) => void;
  onGone?: (uid: PodUid) => void;
}

/** The pipeline of one agent, from desired pods to calls to the runtime, without a host. */
export class SimulatedAgent {
  readonly observed = new ObservedPods();
  readonly probes = new ProbeResults();
  readonly starting = new StartingContainers();
  readonly replaced = new ReplacedContainers();
  readonly workers = new WorkerStates();
  readonly statuses = new PodStatuses();
  readonly podWorkers: PodWorkers;
  readonly #statusManager: StatusManager;
  readonly #stop = new AbortController();
  readonly #client: ReturnType<InMemoryRuntime["client"]>;
  readonly #loop: SyncLoop;
  readonly #pleg: Pleg;
  readonly #stream: EventStream;
  readonly #housekeeping: Housekeeping;
  readonly #probeManager: ProbeManager;
  readonly #runtime: PodRuntime;
  readonly #o: SimulatedAgentOptions;
  /** The number of changes of probe results. */
  #probeChanges = 0;
  readonly #statusInputs = new Map<PodUid, unknown[]>();

  constructor(options: SimulatedAgentOptions) {
    this.#o = options;
    const { runtime, clock, behavior, onCall, host = new SimulatedHost() } = options;
    const client = runtime.client({ behavior, onCall });
    this.#client = client;
    const { observed, probes, starting, replaced } = this;
    const events = { normal() {}, warning() {} };
    const hostIps = ["10.0.0.1"];
    const desired = new DesiredPods();
    this.#loop = new SyncLoop({ clock, logger: silentLogger });
    const { post } = this.#loop;
    const initialSync = new InitialSync({ post, sources: ["file"] });
    initialSync.runtimeKnown();
    const state = { connected: false };
    const limiter = new ConcurrencyLimiter<StartKind>(4);
    this.#pleg = new Pleg({
      runtime: client,
      observed,
      clock,
      logger: silentLogger,
      relistEveryMs: () => (state.connected ? 10_000 : 1000),
      onEvent: ({ uid, kind: what }) => post({ kind: "runtime-observed", uid, what }),
    });
    const hints = new RefreshHints({ clock, observed, pleg: this.#pleg, limiter });
    this.#stream = new EventStream({
      runtime: client,
      clock,
      logger: silentLogger,
      hints,
      pleg: this.#pleg,
      state,
    });
    const work = new PodRuntime({
      runtime: client,
      images: {
        ensure: async (_pod, container) => ({ ref: container.image ?? "", user: { uid: 0n } }),
        forget: () => {},
      },
      requests: options.requests ?? plainRequests(""),
      cgroups: {
        ensure: async (pod) => void host.cgroups.add(pod.metadata.uid),
        remove: async (uid) => void host.cgroups.delete(uid),
      },
      files: host.files,
      observed,
      pleg: this.#pleg,
      limiter,
      clock,
      logger: silentLogger,
      events,
      maxRestartDelayMs: options.maxRestartDelayMs ?? 20_000,
      probes,
      hooks: options.hooks ?? { run: async () => {} },
      replaced,
      starting,
    });
    this.#runtime = work;
    this.#probeManager = new ProbeManager({
      clock,
      logger: silentLogger,
      metrics: createMetrics(),
      results: probes,
      observed: this.#reportedPods,
      runtime: client,
      events,
      hostIps: () => hostIps,
      random: () => 0.5,
      previousOutcome: (kind, _pod, id) => (host.passedProbes.has(`${kind}/${id}`) ? "success" : undefined),
      prober: options.prober?.(probes),
    });
    this.podWorkers = new PodWorkers({
      states: this.workers,
      syncer: {
        sync: (pod, report, signal) => {
          this.#probeManager.addPod(pod);
          return work.sync(pod, report, signal);
        },
        stop: (uid, pod, o) => work.stop(uid, pod, o),
        release: (uid) => work.release(uid),
        remove: (id, signal) => work.remove(id, signal),
        isTerminal: ({ metadata: { uid } }) => isTerminalPhase(this.statuses.get(uid)?.phase),
        admit: (pod) => {
          const failure = options.admit?.(pod);
          return failure ? { kind: "rejected", failure } : { kind: "admitted" };
        },
        deadlineOf: (pod) => this.#deadlineOf(pod),
      },
      clock,
      logger: silentLogger,
      syncEveryMs: () => 60_000,
      previousVersions: (pod) =>
        [...observed.all(), ...observed.uninspected()].filter(
          (other) =>
            other.uid !== pod.metadata.uid &&
            fullNameOf({ metadata: other }) === fullNameOf(pod) &&
            desired.get(other.uid) === undefined,
        ),
      onChange: (uid) => post({ kind: "worker-changed", uid }),
      onPhase: (uid, phase) => post({ kind: "worker-phase", uid, phase }),
      onGone: (uid, worker) => post({ kind: "worker-gone", uid, worker }),
    });
    this.#statusManager = new StatusManager({
      statuses: this.statuses,
      clock,
      observed: this.#reportedPods,
      probes,
      replaced,
      hostIPs: () => hostIps,
      runtimeName: () => "fake",
      onChange: () => {},
    });
    probes.onChange((result) => {
      const { uid, id, kind, outcome } = result;
      this.#probeChanges++;
      if (outcome === "success") host.passedProbes.add(`${kind}/${id}`);
      else host.passedProbes.delete(`${kind}/${id}`);
      post({ kind: "probe-result", uid, result });
    });
    this.#loop.subscribe(this.#handlers(desired, initialSync));
    this.#housekeeping = new Housekeeping({
      clock,
      logger: silentLogger,
      initialSync,
      isKnown: (uid) => desired.get(uid) !== undefined || this.workers.get(uid) !== undefined,
      inRuntime: () => observed.all(),
      mayTerminate: () => true,
      removesOrphans: true,
      onOrphan: (pod) => post({ kind: "orphan-found", uid: pod.uid, pod }),
      files: host.files,
      cgroups: {
        list: async () => [...host.cgroups],
        reduceCpu: async () => {},
        remove: async (uid) => void host.cgroups.delete(uid),
      },
    });
    void this.#pleg.synced.then(() => post({ kind: "runtime-synced" }));
  }

  /** The handlers of the agent, for the components that exist here. */
  #handlers(desired: DesiredPods, initialSync: InitialSync): Partial<EventHandlers> {
    const { workers } = this;
    const podWorkers = this.podWorkers;
    const probes = this.#probeManager;
    return {
      desiredPods: { "pods-changed": ({ change }) => applyToDesired(change, desired) },
      initialSync: {
        "pods-changed": ({ change }) => initialSync.delivered(change.source),
        "runtime-synced": () => initialSync.runtimeListed(),
        "runtime-state": () => {},
      },
      probes: {
        "runtime-observed": ({ uid }) => probes.observed(uid),
        "post-start-done": ({ uid }) => probes.observed(uid),
        "worker-phase": ({ uid, phase }) => probes.phaseChanged(uid, phase, workers.get(uid)?.pod),
        "worker-gone": ({ uid }) => probes.removePod(uid),
        "mirror-changed": () => {},
      },
      status: {
        "runtime-observed": ({ uid }) => this.#refreshStatus(uid),
        "runtime-synced": () => {
          for (const { id } of workers.all()) this.#refreshStatus(id.uid);
        },
        "post-start-done": ({ uid }) => this.#refreshStatus(uid),
        "probe-result": ({ uid }) => this.#refreshStatus(uid),
        "worker-changed": ({ uid }) => this.#refreshStatus(uid),
        "resize-allocated": () => {},
        "resize-changed": () => {},
        "device-health-changed": ({ uid }) => this.#refreshStatus(uid),
        "worker-gone": ({ uid }) => {
          this.#statusManager.forget(uid);
          this.#statusInputs.delete(uid);
          this.#o.onGone?.(uid);
        },
        "devices-changed": () => {},
        "mirror-changed": () => {},
      },
      workers: {
        "pods-changed": ({ change }) => applyToWorkers(change, podWorkers),
        "runtime-observed": ({ uid }) => podWorkers.wake(uid),
        "runtime-synced": () => podWorkers.release(),
        "runtime-state": () => {},
        "orphan-found": ({ pod }) => podWorkers.terminateOrphan(pod),
        "probe-result": ({ uid }) => podWorkers.wake(uid),
        "worker-phase": () => podWorkers.wakeWaiting(),
        "pod-rejected": ({ uid, failure }) => podWorkers.reject(uid, failure),
        "pod-evicted": ({ uid, failure, graceSeconds }) => podWorkers.evict(uid, { failure, graceSeconds }),
        "pod-shutdown": ({ uid, failure, graceSeconds }) =>
          podWorkers.terminate(uid, { removed: false, failure, graceSeconds }),
        "status-changed": () => {},
        "resize-allocated": () => {},
        "api-listed": () => {},
        "dra-driver-connected": () => {},
      },
    };
  }

  async start(manifests: readonly Pod[]): Promise<void> {
    const { signal } = this.#stop;
    for (const part of [
      this.#loop,
      this.#probeManager,
      this.podWorkers,
      this.#pleg,
      this.#stream,
      this.#housekeeping,
    ])
      await part.start(signal);
    this.report("ADD", ...manifests);
  }

  report(op: "ADD" | "UPDATE" | "DELETE" | "REMOVE", ...pods: Pod[]): void {
    this.#loop.post({ kind: "pods-changed", change: { op, source: "file", pods } });
  }

  add(...pods: Pod[]): void {
    this.report("ADD", ...pods);
  }

  remove(...pods: Pod[]): void {
    this.report("REMOVE", ...pods);
  }

  /** kill -9: requests to the runtime may still take effect, the agent does nothing more. */
  async kill(): Promise<void> {
    this.#client.kill();
    this.#stop.abort();
    await settle();
  }

  /** SIGTERM: resolves when every worker has stopped. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.podWorkers.done;
  }

  /** The number of pods and containers that the agent keeps state of, by kind of state. */
  get stateCounts(): Record<string, number> {
    return {
      ...this.#runtime.entryCounts,
      "probe results": this.probes.size,
      "containers that are starting": this.starting.size,
      "pods with replaced containers": this.replaced.size,
      workers: [...this.workers.all()].length,
      "observed pods": [...this.observed.all()].length,
    };
  }

  phaseOf(uid: PodUid): string | undefined {
    return this.statuses.get(uid)?.phase;
  }

  #refreshStatus(uid: PodUid): void {
    const worker = this.workers.get(uid);
    if (!worker?.pod) return;
    const { pod, waiting, phase, failure, rejected } = worker;
    // A status depends on these inputs only. Computing it for every event of a worker would take too long.
    const reportedPod = this.#reportedPods.get(uid);
    const inputs = [
      pod,
      reportedPod,
      this.observed.knows(uid),
      phase,
      failure,
      this.#probeChanges,
      this.replaced.size,
    ];
    const known = this.#statusInputs.get(uid);
    if (waiting.size === 0 && known && inputs.every((fact, i) => fact === known[i])) return;
    if (waiting.size === 0) this.#statusInputs.set(uid, inputs);
    else this.#statusInputs.delete(uid);
    this.#statusManager.refresh(pod, { waiting, workerPhase: phase, failure, rejected });
    // The status of a pod that is no longer desired is not reported.
    const reported = this.phaseOf(uid);
    if (!worker.removed && reported) this.#o.onStatus?.(pod, reported);
  }

  /** The running containers, as users see them. */
  readonly #reportedPods = {
    get: (uid: PodUid) => this.starting.asReported(this.observed.get(uid)),
    knows: (uid: PodUid) => this.observed.knows(uid),
  };

  #deadlineOf({ metadata, spec }: Pod): ActiveDeadline | undefined {
    const since = this.statuses.activeSince(metadata.uid);
    if (spec.activeDeadlineSeconds === undefined || since === undefined) return undefined;
    return { since, limitMs: spec.activeDeadlineSeconds * 1000 };
  }
}
