import type { FakeClock } from "../../../lib/base/fake-clock.ts";
import { silentLogger } from "../../../lib/base/logger.ts";
import type { Pod, PodUid } from "../../../lib/model/pod.ts";
import { NodeShutdownState } from "../../state/node-shutdown-state.ts";
import { type Logind, type LogindListener, NodeShutdown, type NodeShutdownOptions } from "./node-shutdown.ts";
import type { ShutdownPeriod } from "./shutdown-groups.ts";

export interface FakeShutdownPod {
  readonly pod: Pod;
  /** How long its containers take to stop; they are killed when its grace period is over. */
  readonly stopsMs: number;
  readonly unmountsMs?: number;
  /** The runtime never stops it. */
  readonly isStuck?: boolean;
}

interface Terminated {
  readonly graceSeconds: number;
  /** Since the start, in milliseconds: when it was requested, when it has stopped, when its volumes are unmounted. */
  readonly from: number;
  readonly stopped: number;
  readonly finished: number;
}

/** A machine in simulated time: logind with its locks, pods that take time to terminate, and one node shutdown manager. */
export class FakeShutdownNode {
  readonly state = new NodeShutdownState();
  readonly terminated = new Map<string, Terminated>();
  readonly events: string[] = [];
  readonly logged: string[] = [];
  readonly manager: NodeShutdown;
  delayMs = 3_600_000;
  isPreparing = false;
  /** The bus is down, or logind is not running. */
  isAvailable = true;
  isSynced = true;
  isWritten = true;
  held = 0;
  /** How often a lock was requested. */
  requests = 0;
  readonly #clock: FakeClock;
  readonly #stop = new AbortController();
  readonly #listeners = new Set<LogindListener>();
  readonly #pods: readonly FakeShutdownPod[];

  constructor(
    clock: FakeClock,
    pods: readonly FakeShutdownPod[],
    periods: readonly ShutdownPeriod[],
    more: Partial<NodeShutdownOptions> = {},
  ) {
    this.#clock = clock;
    this.#pods = pods;
    const note = (message: string) => this.logged.push(message);
    this.manager = new NodeShutdown({
      periods,
      clock,
      state: this.state,
      confDir: "/nonexistent",
      logger: { ...silentLogger, error: note, warn: note },
      nodeEvents: {
        normal: (reason, message) => this.events.push(`node ${reason}: ${message}`),
        warning: (reason, message) => this.events.push(`node ${reason}: ${message}`),
      },
      events: {
        normal: ({ metadata }, reason) => this.events.push(`${metadata.name} ${reason}`),
        warning: ({ metadata }, reason) => this.events.push(`${metadata.name} ${reason}`),
      },
      logind: (listener) => this.#connect(listener),
      activePods: () =>
        pods.flatMap(({ pod }) => (this.#terminationOf(pod.metadata.uid) === "none" ? [pod] : [])),
      initialSync: { isComplete: () => this.isSynced },
      apiStatuses: { isWritten: () => this.isWritten },
      terminationOf: (uid) => this.#terminationOf(uid),
      onTerminate: (uid, { graceSeconds }) => this.#terminate(uid, graceSeconds),
      onChange: () => {},
      ...more,
    });
  }

  start(): Promise<void> {
    return this.manager.start(this.#stop.signal);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.manager.done;
  }

  /** Sends PrepareForShutdown, after logind has begun or canceled a shutdown. */
  prepare(isActive: boolean): void {
    this.isPreparing = isActive;
    this.signal(isActive);
  }

  signal(isActive: boolean): void {
    for (const listener of [...this.#listeners]) listener.onPrepareForShutdown(isActive);
  }

  /** All connections are lost; locks are kept. */
  disconnect(): void {
    for (const listener of [...this.#listeners]) listener.onLost("restarted");
  }

  #connect(listener: LogindListener): Logind {
    this.#listeners.add(listener);
    const check = async () => {
      if (!this.isAvailable) throw new Error("connect to D-Bus: no such file");
    };
    return {
      inhibitDelayMs: async () => {
        await check();
        return this.delayMs;
      },
      reload: check,
      isPreparing: async () => {
        await check();
        return this.isPreparing;
      },
      inhibit: async () => {
        await check();
        this.requests++;
        if (this.isPreparing) throw new Error("the operation is already running");
        this.held++;
        let isHeld = true;
        return {
          release: () => {
            if (isHeld) this.held--;
            isHeld = false;
          },
        };
      },
      close: () => this.#listeners.delete(listener),
    };
  }

  #terminate(uid: PodUid, graceSeconds: number): void {
    const found = this.#pods.find(({ pod }) => pod.metadata.uid === uid)!;
    const from = this.#clock.elapsedMs;
    const before = this.terminated.get(uid);
    if (before) return;
    const graceMs = Math.max(1, graceSeconds) * 1000;
    const stopped = found.isStuck ? Number.POSITIVE_INFINITY : from + Math.min(found.stopsMs, graceMs);
    this.terminated.set(uid, { graceSeconds, from, stopped, finished: stopped + (found.unmountsMs ?? 0) });
  }

  #terminationOf(uid: PodUid): "none" | "terminated" | "finished" {
    const times = this.terminated.get(uid);
    const now = this.#clock.elapsedMs;
    if (!times || now < times.stopped) return "none";
    return now < times.finished ? "terminated" : "finished";
  }
}
