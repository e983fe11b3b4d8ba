import { msSince, sleep } from "../../lib/base/clock.ts";
import { isAbort, messageOf } from "../../lib/base/errors.ts";
import { mapWithLimit } from "../../lib/base/map-with-limit.ts";
import type { MonotonicTime } from "../../lib/base/time.ts";
import { hasGrpcCode } from "../../lib/clients/cri/cri-error.ts";
import { readBlockDevices } from "../../lib/host/block-devices.ts";
import { filesystemSpace } from "../../lib/host/disk-usage.ts";
import { readNetworkUsage } from "../../lib/host/network-usage.ts";
import { readTaskCounts } from "../../lib/host/process-limits.ts";
import type { PodUid } from "../../lib/model/pod.ts";
import type { PodStats, Summary } from "../../lib/model/stats-summary.ts";
import { CachedLoad } from "./cached-load.ts";
import { type CgroupRow, cgroupRows } from "./cgroup-rows.ts";
import { CgroupSampler } from "./cgroup-sampler.ts";
import { CpuRates } from "./cpu-rates.ts";
import { deviceOf } from "./disks.ts";
import { fsSpaceOf } from "./filesystems.ts";
import { layersOf } from "./layers.ts";
import { NodeStatsProvider } from "./node-stats.ts";
import type { StatsHost, StatsOptions } from "./options.ts";
import { PodStatsProvider, type RuntimeStats } from "./pod-stats.ts";
import { PressureStats } from "./pressure-stats.ts";
import { SandboxImages } from "./sandbox-images.ts";

const realHost: StatsHost = {
  network: readNetworkUsage,
  space: filesystemSpace,
  tasks: () => readTaskCounts(),
  device: deviceOf,
};

const defaultMaxAgeMs = 1000;
const defaultSecondSampleMs = 1000;
/** CPU usage over a longer interval is not current. */
const longestWindowMs = 60_000;
const runtimeWithinMs = 10_000;
const podsAtOnce = 4;
const noRuntimeStats: RuntimeStats = { containers: new Map(), sandboxes: new Map() };

/** The resource usage of the node and its pods, on request. */
export class Stats {
  readonly #o: StatsOptions;
  readonly #host: StatsHost;
  readonly #rates = new CpuRates();
  readonly #node: NodeStatsProvider;
  readonly #pods: PodStatsProvider;
  /** The inputs of eviction. */
  readonly pressure: PressureStats;
  readonly #summary: CachedLoad<Summary>;
  readonly #cpuAndMemory: CachedLoad<Summary>;
  readonly #totals: CachedLoad<Summary>;
  readonly #storage: CachedLoad<Summary>;
  readonly #containers: CachedLoad<readonly CgroupRow[]>;
  readonly #runtimeStats: CachedLoad<RuntimeStats>;
  readonly #sandboxImages: SandboxImages;
  #sampledAt: MonotonicTime | undefined;
  /** Calls that this runtime does not implement; not retried until the agent restarts. */
  readonly #unknown = new Set<string>();

  constructor(options: StatsOptions) {
    this.#o = options;
    this.#sandboxImages = new SandboxImages(options.runtime);
    const { clock, cgroups, psi, maxAgeMs = defaultMaxAgeMs, host = realHost } = options;
    this.#host = host;
    const rates = this.#rates;
    const sampler = new CgroupSampler({ clock, cgroups, rates, psi });
    this.#node = new NodeStatsProvider(options, host, sampler);
    this.#pods = new PodStatsProvider({ o: options, host, sampler, rates });
    this.pressure = new PressureStats(options, host);
    const cached = <T>(load: () => Promise<T>) => new CachedLoad(clock, maxAgeMs, load);
    this.#summary = cached(async () => {
      await this.#ensureRecentSample();
      return this.#collectSummary();
    });
    this.#storage = cached(() => this.#collectSummary());
    this.#cpuAndMemory = cached(async () => {
      await this.#ensureRecentSample();
      return this.#collectCpuAndMemory();
    });
    this.#totals = cached(() => this.#collectCpuAndMemory());
    this.#runtimeStats = cached(() => this.#loadRuntimeStats());
    this.#containers = cached(() => this.#collectContainers());
  }

  /** The content of /stats/summary. */
  summary(): Promise<Summary> {
    return this.#summary.get();
  }

  /** Measures only CPU, memory and swap, and reads no disk. */
  cpuAndMemory(): Promise<Summary> {
    return this.#cpuAndMemory.get();
  }

  /** The same immediately: readers of counters need not wait for a second CPU sample. */
  totals(): Promise<Summary> {
    return this.#totals.get();
  }

  /** Returns a complete summary immediately, for callers that need the disk usage and no current CPU usage. */
  storage(): Promise<Summary> {
    return this.#storage.get();
  }

  /**
   * The disk usage of some pods, for evictions. It includes termination message files, and nothing else is measured. `layers`: with their
   * writable layers, which the runtime measures.
   */
  async storageOf(uids: ReadonlySet<PodUid>, o: { readonly layers: boolean }): Promise<PodStats[]> {
    const [runtime, nodeFs] = await Promise.all([
      o.layers ? this.#runtimeStats.get() : noRuntimeStats,
      this.#host.space(this.#o.rootDir),
    ]);
    const pods = [...this.#o.observed.all()].filter(({ uid }) => uids.has(uid));
    const found = await mapWithLimit(pods, podsAtOnce, (pod) =>
      this.#pods.storage(pod, runtime, fsSpaceOf(nodeFs)),
    );
    return found.filter((stats) => stats !== undefined);
  }

  /** All counters of all Kubernetes cgroups, and of the machine. */
  containers(): Promise<readonly CgroupRow[]> {
    return this.#containers.get();
  }

  /** Nothing polls the CPU, so a request may find only an old sample. It then takes a second one first. */
  async #ensureRecentSample(): Promise<void> {
    const { clock, secondSampleMs = defaultSecondSampleMs } = this.#o;
    const isNew = this.#sampledAt !== undefined && msSince(clock, this.#sampledAt) < longestWindowMs;
    if (secondSampleMs === 0 || isNew) return;
    await this.#collectCpuAndMemory();
    await sleep(clock, secondSampleMs);
  }

  async #collectSummary(): Promise<Summary> {
    const [runtime, nodeFs] = await Promise.all([
      this.#runtimeStats.get(),
      this.#host.space(this.#o.rootDir),
    ]);
    const space = fsSpaceOf(nodeFs);
    const [node, pods] = await Promise.all([
      this.#node.whole(nodeFs),
      mapWithLimit([...this.#o.observed.all()], podsAtOnce, (pod) => this.#pods.whole(pod, runtime, space)),
    ]);
    return this.#done(node, pods);
  }

  async #collectCpuAndMemory(): Promise<Summary> {
    const runtime = await this.#runtimeStats.get();
    const [node, pods] = await Promise.all([
      this.#node.cpuAndMemory(),
      mapWithLimit([...this.#o.observed.all()], podsAtOnce, (pod) => this.#pods.cpuAndMemory(pod, runtime)),
    ]);
    return withoutIo(this.#done(node, pods));
  }

  async #collectContainers(): Promise<readonly CgroupRow[]> {
    const [rows, runtime] = await Promise.all([
      cgroupRows(this.#o, this.#host, this.#sandboxImages),
      this.#runtimeStats.get(),
    ]);
    const devices = await readBlockDevices();
    const layers = await layersOf(runtime.containers, {
      space: (path) => this.#host.space(path),
      device: async (path) => {
        const numbers = (await deviceOf(path)) ?? "";
        return devices.get(numbers)?.path ?? numbers;
      },
    });
    return rows.map((row) => {
      const layer = layers.get(row.containerId ?? "");
      return layer ? { ...row, layer } : row;
    });
  }

  #done(node: Summary["node"], pods: readonly (PodStats | undefined)[]): Summary {
    this.#sampledAt = this.#o.clock.monotonic();
    this.#rates.prune(this.#o.clock.wall());
    return { node, pods: pods.filter((pod) => pod !== undefined) };
  }

  /** If the runtime does not respond, only its stats are missing; cgroups are read without it. */
  async #loadRuntimeStats(): Promise<RuntimeStats> {
    const { runtime, podStatsFromRuntime } = this.#o;
    const [containers, sandboxes] = await Promise.all([
      this.#load("ListContainerStats", () => runtime.listContainerStats({ timeoutMs: runtimeWithinMs })),
      podStatsFromRuntime
        ? this.#load("ListPodSandboxStats", () => runtime.listPodSandboxStats({ timeoutMs: runtimeWithinMs }))
        : [],
    ]);
    return {
      containers: new Map(containers.flatMap((c) => (c.attributes ? [[c.attributes.id, c] as const] : []))),
      sandboxes: new Map(
        sandboxes.flatMap((s) => (s.attributes && s.linux ? [[s.attributes.id, s.linux] as const] : [])),
      ),
    };
  }

  async #load<T>(call: string, load: () => Promise<T[]>): Promise<T[]> {
    if (this.#unknown.has(call)) return [];
    try {
      return await load();
    } catch (error) {
      if (isAbort(error)) throw error;
      if (hasGrpcCode(error, "UNIMPLEMENTED")) this.#unknown.add(call);
      this.#o.logger.debug(3, "Failed to get stats from the runtime", { call, err: messageOf(error) });
      return [];
    }
  }
}

/** A summary of CPU, memory and swap only has no statistics of I/O. */
function withoutIo({ node, pods }: Summary): Summary {
  return {
    node: {
      ...drop(node),
      ...(node.systemContainers && { systemContainers: node.systemContainers.map(drop) }),
    },
    pods: pods.map((pod) => ({ ...drop(pod), containers: pod.containers.map(drop) })),
  };
}

function drop<T extends { readonly io?: unknown }>({ io: _, ...rest }: T): Omit<T, "io"> {
  return rest;
}
