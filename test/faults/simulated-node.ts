import { type FakeClock, settle } from "../../src/base/fake-clock.ts";
import { ConcurrencyGate } from "../../src/base/gate.ts";
import { silentLogger } from "../../src/base/logger.ts";
import { fullNameOf, type Pod, type PodUid } from "../../src/model/pod.ts";
import { Pleg } from "../../src/pipeline/pleg/pleg.ts";
import { PodFiles } from "../../src/pipeline/pod-runtime/pod-files.ts";
import { PodRuntime } from "../../src/pipeline/pod-runtime/pod-runtime.ts";
import { PodWorkers } from "../../src/pipeline/pod-workers/pod-workers.ts";
import { podPhase } from "../../src/pipeline/status-manager/phase.ts";
import { Housekeeping } from "../../src/pipeline/sync-loop/housekeeping.ts";
import { SyncLoop } from "../../src/pipeline/sync-loop/sync-loop.ts";
import { DesiredPods } from "../../src/state/desired-pods.ts";
import { ObservedPods } from "../../src/state/observed-pods.ts";
import { plainRequests } from "../builders/requests.ts";
import type { Fate, InMemoryRuntime } from "../fake-runtime/in-memory.ts";

/** Files are not what these tests are about, and a disk knows no simulated time. */
class NoFiles extends PodFiles {
  constructor() {
    super({ rootDir: "/nowhere", podLogsDir: "/nowhere", containerLogsDir: "/nowhere" });
  }
  override async make() {}
  override async makeContainer() {}
  override async linkLog() {}
  override async dropLogs() {}
  override async remove() {}
  override async removeDeadLinks() {}
  override async known() {
    return [];
  }
}

export interface SimulatedAgentOptions {
  runtime: InMemoryRuntime;
  clock: FakeClock;
  fate: (method: string) => Fate;
  onCall: (method: string, request: unknown, late: boolean) => void;
}

/** The pipeline of one agent, from pods that are wanted to calls of the runtime, without a host around it. */
export class SimulatedAgent {
  readonly observed = new ObservedPods();
  readonly workers: PodWorkers;
  readonly #stop = new AbortController();
  readonly #client: ReturnType<InMemoryRuntime["client"]>;
  readonly #loop: SyncLoop;
  readonly #pleg: Pleg;
  readonly #housekeeping: Housekeeping;

  constructor({ runtime, clock, fate, onCall }: SimulatedAgentOptions) {
    const client = runtime.client({ fate, onCall });
    this.#client = client;
    const { observed } = this;
    const desired = new DesiredPods();
    let synced = false;
    this.#pleg = new Pleg({
      runtime: client,
      observed,
      clock,
      logger: silentLogger,
      relistEveryMs: () => 1000,
      onEvent: (event) => this.#loop.post({ kind: "runtime", uid: event.uid, what: event.kind }),
    });
    const work = new PodRuntime({
      runtime: client,
      images: {
        ensure: async (_pod, container) => ({ ref: container.image ?? "", user: { uid: 0n } }),
        forget: () => {},
      },
      requests: plainRequests(""),
      cgroups: { ensure: async () => {}, remove: async () => {} },
      files: new NoFiles(),
      observe: { get: (uid) => observed.get(uid), refresh: (uid) => this.#pleg.refresh(uid) },
      gate: new ConcurrencyGate(4),
      clock,
      logger: silentLogger,
      events: { normal() {}, warning() {} },
      maxRestartDelayMs: 20_000,
    });
    this.workers = new PodWorkers({
      work: {
        sync: (pod, report, signal) => work.sync(pod, report, signal),
        stop: (uid, pod, options) => work.stop(uid, pod, options),
        release: (uid) => work.release(uid),
        remove: (id, signal) => work.remove(id, signal),
        hasEnded: (pod) => ["Succeeded", "Failed"].includes(podPhase(pod, observed.get(pod.metadata.uid))),
      },
      clock,
      logger: silentLogger,
      syncEveryMs: () => 60_000,
      formerVersions: (pod) =>
        [...observed.all()].filter(
          (other) =>
            other.uid !== pod.metadata.uid &&
            fullNameOf({ metadata: other }) === fullNameOf(pod) &&
            desired.get(other.uid) === undefined,
        ),
      onChange: () => {},
      onGone: () => {},
    });
    this.#loop = new SyncLoop({ clock, logger: silentLogger, desired, workers: this.workers });
    this.#housekeeping = new Housekeeping({
      clock,
      logger: silentLogger,
      mayJudge: () => synced && this.#loop.hasHeard("file"),
      isKnown: (uid) => desired.get(uid) !== undefined || this.workers.get(uid) !== undefined,
      inRuntime: () => observed.all(),
      mayEnd: () => true,
      removesLeftovers: true,
      terminateOrphan: (pod) => this.workers.terminateOrphan(pod),
      files: new NoFiles(),
      cgroups: { list: async () => [], remove: async () => {} },
    });
    void this.#pleg.synced.then(() => {
      synced = true;
      this.workers.release();
    });
  }

  async start(manifests: readonly Pod[]): Promise<void> {
    const { signal } = this.#stop;
    for (const part of [this.#loop, this.workers, this.#pleg, this.#housekeeping]) await part.start(signal);
    this.add(...manifests);
  }

  add(...pods: Pod[]): void {
    this.#loop.post({ kind: "pods", change: { op: "ADD", source: "file", pods } });
  }

  remove(...pods: Pod[]): void {
    this.#loop.post({ kind: "pods", change: { op: "REMOVE", source: "file", pods } });
  }

  /** kill -9: what was asked of the runtime may still happen, the agent does nothing any more. */
  async kill(): Promise<void> {
    this.#client.kill();
    this.#stop.abort();
    await settle();
  }

  /** SIGTERM: resolves when every worker has ended. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.workers.done;
  }

  phaseOf(uid: PodUid): string | undefined {
    return this.workers.get(uid)?.phase;
  }
}
