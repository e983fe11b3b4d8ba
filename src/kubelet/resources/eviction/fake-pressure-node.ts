import assert from "node:assert/strict";
import type { FakeClock } from "../../../lib/base/fake-clock.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import { isCritical } from "../../../lib/model/critical-pod.ts";
import type { Pod, PodUid } from "../../../lib/model/pod.ts";
import type { PodStats } from "../../../lib/model/stats-summary.ts";
import { NodePressure } from "../../state/node-pressure.ts";
import { EvictionManager, type EvictionManagerOptions } from "./eviction-manager.ts";
import type { NodeUsage } from "./signals.ts";
import { observationsOf } from "./signals.ts";
import { thresholdsMet } from "./thresholds.ts";

export interface FakePod {
  readonly pod: Pod;
  /** Its usage at a time since the start, in milliseconds. */
  readonly usage: (ms: number) => {
    readonly memory?: number;
    readonly disk?: number;
    readonly pids?: number;
  };
  /** How long its termination takes. */
  readonly terminatesMs?: number;
}

export interface FakePressureNodeOptions {
  readonly clock: FakeClock;
  readonly logger: Logger;
  readonly pods: readonly FakePod[];
  readonly capacity: { readonly memory: number; readonly disk: number; readonly pids: number };
  readonly manager: Pick<EvictionManagerOptions, "thresholds" | "transitionMs"> &
    Partial<EvictionManagerOptions>;
  /** Disk space that a garbage collection frees. */
  readonly garbage?: { containers: number; images: number };
  /** The layout of the filesystems; only a nodefs by default. */
  readonly layout?: EvictionManagerOptions["stats"]["layout"];
}

/** A node of pods in simulated time, with one eviction manager at a time. It checks what must always hold. */
export class FakePressureNode {
  readonly pressure = new NodePressure();
  readonly events: string[] = [];
  readonly evictions: {
    readonly name: string;
    readonly at: number;
    readonly message: string;
    readonly grace: number;
  }[] = [];
  readonly reclaimed: string[] = [];
  readonly violations: string[] = [];
  readonly #o: FakePressureNodeOptions;
  readonly #startedAt: number;
  /** The records on disk: when which pod was evicted. */
  readonly #record = new Map<PodUid, number>();
  #garbage: { containers: number; images: number };
  #agent: { stop: AbortController; manager: EvictionManager } | undefined;
  #measurements = 0;
  #last: NodeUsage | undefined;

  constructor(options: FakePressureNodeOptions) {
    this.#o = options;
    this.#startedAt = options.clock.elapsedMs;
    this.#garbage = { ...(options.garbage ?? { containers: 0, images: 0 }) };
  }

  get manager(): EvictionManager {
    assert.ok(this.#agent);
    return this.#agent.manager;
  }

  get #now(): number {
    return this.#o.clock.elapsedMs - this.#startedAt;
  }

  async startAgent(): Promise<void> {
    const stop = new AbortController();
    const manager = new EvictionManager(this.#options());
    this.#agent = { stop, manager };
    await manager.start(stop.signal);
  }

  /** kill -9: it stops in the middle of whatever it was doing. What it decided is on disk. */
  killAgent(): void {
    this.#agent?.stop.abort();
    this.#agent = undefined;
    this.pressure.set([], "");
  }

  running(): FakePod[] {
    return this.#o.pods.filter(({ pod, terminatesMs = 0 }) => {
      const evictedAt = this.#record.get(pod.metadata.uid);
      return evictedAt === undefined || this.#now < evictedAt + terminatesMs;
    });
  }

  usage(): NodeUsage {
    const { capacity, pods } = this.#o;
    const running = this.running();
    const sum = (key: "memory" | "disk" | "pids") =>
      running.reduce((total, { usage }) => total + (usage(this.#now)[key] ?? 0), 0);
    assert.ok(running.length <= pods.length);
    const workingSetBytes = Math.min(capacity.memory, sum("memory"));
    const disk = sum("disk") + this.#garbage.containers + this.#garbage.images;
    return {
      memory: {
        availableBytes: capacity.memory - workingSetBytes,
        workingSetBytes,
        usageBytes: workingSetBytes,
      },
      nodeFs: { availableBytes: Math.max(0, capacity.disk - disk), capacityBytes: capacity.disk },
      tasks: { max: capacity.pids, running: sum("pids") },
    };
  }

  #options(): EvictionManagerOptions {
    const { clock, logger, manager, pods } = this.#o;
    const statsOf = () =>
      new Map(this.running().map((p) => [p.pod.metadata.uid as string, this.#stats(p)] as const));
    return {
      maxPodGraceSeconds: 0,
      localStorage: false,
      podLevel: true,
      clock,
      logger,
      pressure: this.pressure,
      stats: {
        node: async () => {
          this.#measurements++;
          this.#last = this.usage();
          return this.#last;
        },
        layout: this.#o.layout ?? (async () => ({ dedicatedImageFs: false, splitContainerFs: false })),
        pods: async () => statsOf(),
        storage: async () => statsOf(),
      },
      activePods: () => this.running().map(({ pod }) => pod),
      terminationOf: (uid) => {
        const pod = pods.find((p) => p.pod.metadata.uid === uid);
        return this.running().includes(pod!) ? "none" : "finished";
      },
      evicted: {
        has: (uid) => this.#record.has(uid),
        all: () => [...this.#record.keys()],
        evict: async (uid, { failure, graceSeconds = 0 }) => this.#evict(uid, failure.message, graceSeconds),
      },
      reclaim: async (what) => {
        this.reclaimed.push(what);
        if (what === "dead containers") this.#garbage.containers = 0;
        if (what === "unused images") this.#garbage.images = 0;
      },
      events: {
        normal: () => {},
        warning: (pod, reason) => this.events.push(`${pod.metadata.name} ${reason}`),
      },
      nodeEvents: { warning: (reason, message) => this.events.push(`node ${reason}: ${message}`) },
      metrics: { evicted: (signal) => this.events.push(`metric ${signal}`), statsUsed: () => {} },
      onPressure: () => this.events.push(`conditions ${this.pressure.conditions.join(" ")}`),
      ...manager,
    };
  }

  #evict(uid: PodUid, message: string, grace: number): void {
    const { pod } = this.#o.pods.find((p) => p.pod.metadata.uid === uid)!;
    const { name } = pod.metadata;
    if (isCritical(pod)) this.violations.push(`${name} is critical`);
    if (this.#record.has(uid)) this.violations.push(`${name} was evicted twice`);
    const { thresholds, localStorage } = this.#o.manager;
    if (!localStorage && this.#measurements === 0)
      this.violations.push(`${name} was evicted without a measurement since the last`);
    const observed = observationsOf(this.#last ?? {});
    if (!localStorage && thresholdsMet(thresholds, observed, { minReclaim: true }).length === 0)
      this.violations.push(`${name} was evicted although no threshold was met`);
    this.#measurements = 0;
    this.#record.set(uid, this.#now);
    this.evictions.push({ name, at: this.#now, message, grace });
  }

  #stats({ pod, usage }: FakePod): PodStats {
    const { name, namespace, uid } = pod.metadata;
    const { memory = 0, disk = 0, pids = 0 } = usage(this.#now);
    const time = "2026-01-01T00:00:00Z";
    return {
      podRef: { name, namespace, uid },
      startTime: time,
      containers: [
        { name: "c", startTime: time, rootfs: { time, usedBytes: disk }, logs: { time, usedBytes: 0 } },
      ],
      memory: { time, workingSetBytes: memory },
      "ephemeral-storage": { time, usedBytes: disk },
      process_stats: { process_count: pids },
    };
  }
}
