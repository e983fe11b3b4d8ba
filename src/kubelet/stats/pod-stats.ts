import { join } from "node:path";
import { messageOf } from "../../lib/base/errors.ts";
import type { WallTime } from "../../lib/base/time.ts";
import type * as api from "../../lib/gen/runtime/v1/api_pb.js";
import type { PodUid } from "../../lib/model/pod.ts";
import type { FsStats, NetworkStats, PodStats, VolumeStats } from "../../lib/model/stats-summary.ts";
import type { VolumeStat } from "../pods/volumes/manager/volume-stats.ts";
import type { ObservedContainer, ObservedPod } from "../state/observed-pods.ts";
import { type CgroupSampler, containerPids } from "./cgroup-sampler.ts";
import { containerUsage, logsOf, present, rootfsOf } from "./container-stats.ts";
import type { CpuRates } from "./cpu-rates.ts";
import { ephemeralStorage, isEphemeral } from "./ephemeral-storage.ts";
import { type FsSpace, fsSpaceOf, layerDirOf } from "./filesystems.ts";
import type { CgroupStats } from "./from-cgroup.ts";
import { runtimeCpu, runtimeIo, runtimeMemory, runtimeNetwork } from "./from-runtime.ts";
import { type FileUsage, usageByDirectory, usageOfFile, usageOfFiles } from "./log-usage.ts";
import { networkStats } from "./network.ts";
import type { StatsHost, StatsOptions } from "./options.ts";
import { sumOfContainers } from "./pod-sums.ts";
import { rfc3339 } from "./times.ts";

/** The stats of the runtime, requested once for all pods. */
export interface RuntimeStats {
  readonly containers: ReadonlyMap<string, api.ContainerStats>;
  readonly sandboxes: ReadonlyMap<string, api.LinuxPodSandboxStats>;
}

export interface PodStatsParts {
  readonly o: StatsOptions;
  readonly host: StatsHost;
  readonly sampler: CgroupSampler;
  readonly rates: CpuRates;
}

/** The stats of a pod. */
export class PodStatsProvider {
  readonly #p: PodStatsParts;

  constructor(parts: PodStatsParts) {
    this.#p = parts;
  }

  /** Undefined if no container is running. */
  async cpuAndMemory(pod: ObservedPod, runtime: RuntimeStats): Promise<PodStats | undefined> {
    const { o, sampler, rates } = this.#p;
    const running = pod.containers.filter((c) => c.state === "running");
    const sandbox = sandboxOf(pod, running);
    if (!sandbox || running.length === 0) return undefined;
    const cgroup = o.cgroupOf(pod.uid);
    const dirs = cgroup === undefined ? undefined : await sampler.containers(cgroup);
    const containers = await Promise.all(
      running.map((container) =>
        containerUsage(container, {
          sampler,
          rates,
          psi: o.psi,
          hasCgroupPsi: o.cgroups.version === 2,
          canSwap: o.machine.swapBytes > 0,
          preferRuntime: o.podStatsFromRuntime,
          runtimeStats: runtime.containers.get(container.id),
          cgroup: dirs?.get(container.id),
        }),
      ),
    );
    const runtimeStats = runtime.sandboxes.get(sandbox.id);
    const whole =
      (runtimeStats && this.#fromRuntime(sandbox, runtimeStats)) ??
      (cgroup === undefined ? undefined : await sampler.stats(cgroup, sandbox.createdAt));
    const { name, namespace, uid } = pod;
    const summed = sumOfContainers(containers);
    return {
      podRef: { name, namespace, uid },
      startTime: rfc3339(sandbox.createdAt),
      containers,
      ...summed,
      ...whole,
    };
  }

  /** Complete stats. */
  async whole(pod: ObservedPod, runtime: RuntimeStats, nodeSpace: FsSpace): Promise<PodStats | undefined> {
    const basic = await this.cpuAndMemory(pod, runtime);
    if (!basic) return undefined;
    const time = rfc3339(this.#p.o.clock.wall());
    const [files, network, processes] = await Promise.all([
      this.#files(pod, runtime, nodeSpace, time),
      this.#network(pod, runtime, time),
      this.#processes(pod, runtime),
    ]);
    const { volume, "ephemeral-storage": ephemeral } = files;
    return {
      ...basic,
      containers: basic.containers.map(({ swap, ...rest }, index) => ({
        ...rest,
        ...files.containers[index],
        ...(swap && { swap }),
      })),
      ...(network && { network }),
      ...(volume && { volume }),
      "ephemeral-storage": ephemeral,
      ...(processes !== undefined && { process_stats: { process_count: processes } }),
    };
  }

  /** Measures only the disk usage, with termination message files. Undefined if no container is running. */
  async storage(pod: ObservedPod, runtime: RuntimeStats, nodeSpace: FsSpace): Promise<PodStats | undefined> {
    const running = pod.containers.filter((c) => c.state === "running");
    const sandbox = sandboxOf(pod, running);
    if (!sandbox || running.length === 0) return undefined;
    const { name, namespace, uid } = pod;
    const [files, messages] = await Promise.all([
      this.#files(pod, runtime, nodeSpace, rfc3339(this.#p.o.clock.wall())),
      messageFilesOf(this.#p.o.rootDir, uid),
    ]);
    const stats: PodStats = {
      podRef: { name, namespace, uid },
      startTime: rfc3339(sandbox.createdAt),
      ...files,
      containers: running.map((container, index) => ({
        name: container.name,
        startTime: rfc3339(container.startedAt),
        ...files.containers[index],
      })),
    };
    return withMessageFiles(stats, messages, nodeSpace);
  }

  /** Writable layers and logs of the running containers, in their order, and volumes. */
  async #files(
    pod: ObservedPod,
    runtime: RuntimeStats,
    nodeSpace: FsSpace,
    time: string,
  ): Promise<{
    readonly containers: readonly { readonly rootfs?: FsStats; readonly logs?: FsStats }[];
    readonly volume?: readonly VolumeStats[];
    readonly "ephemeral-storage": FsStats;
  }> {
    const { o } = this.#p;
    const logDir = join(o.podLogsDir, `${pod.namespace}_${pod.name}_${pod.uid}`);
    const running = pod.containers.filter((c) => c.state === "running");
    const [containers, volumes, podLogs, hosts] = await Promise.all([
      Promise.all(
        running.map(async ({ id, name }) => {
          const runtimeStats = runtime.containers.get(id);
          const [space, logs] = await Promise.all([
            this.#fsSpaceOf(runtimeStats),
            usageOfFiles(join(logDir, name)),
          ]);
          return present({ rootfs: rootfsOf(runtimeStats, space), logs: logsOf(time, logs, nodeSpace) });
        }),
      ),
      this.#volumes(pod),
      usageOfFiles(logDir),
      usageOfFile(join(o.rootDir, "pods", pod.uid, "etc-hosts")),
    ]);
    const ephemeral = volumes.filter(({ name }) => this.#isEphemeral(pod, name));
    return {
      containers,
      ...(volumes.length > 0 && { volume: volumes }),
      "ephemeral-storage": ephemeralStorage({
        time,
        space: nodeSpace,
        containers,
        volumes: ephemeral,
        files: [podLogs, hosts],
      }),
    };
  }

  #fromRuntime(
    sandbox: { id: string; createdAt: WallTime },
    runtimeStats: api.LinuxPodSandboxStats,
  ): CgroupStats | undefined {
    const { rates, o } = this.#p;
    const rate = (at: WallTime, usageNs: number) =>
      rates.rate(`pod ${sandbox.id}`, at, usageNs, sandbox.createdAt);
    const cpu = runtimeCpu(runtimeStats.cpu, rate, o.psi);
    const memory = runtimeMemory(runtimeStats.memory, o.psi);
    return cpu && memory ? { cpu, memory, ...present({ io: runtimeIo(runtimeStats.io, o.psi) }) } : undefined;
  }

  async #fsSpaceOf(runtimeStats: api.ContainerStats | undefined): Promise<FsSpace | undefined> {
    const dir = runtimeStats && layerDirOf(runtimeStats);
    if (!dir) return undefined;
    const space = await this.#p.host.space(dir).catch(() => undefined);
    return space && fsSpaceOf(space);
  }

  /** Every process of the pod is in its network namespace; the sandbox process is the first of them. */
  async #network(pod: ObservedPod, runtime: RuntimeStats, time: string): Promise<NetworkStats | undefined> {
    const { o, host, sampler } = this.#p;
    const sandbox = sandboxOf(pod, pod.containers);
    if (!sandbox) return undefined;
    const runtimeStats = runtimeNetwork(runtime.sandboxes.get(sandbox.id)?.network);
    const cgroup = o.cgroupOf(pod.uid);
    if (runtimeStats || cgroup === undefined) return runtimeStats;
    const dirs = await sampler.containers(cgroup);
    for (const id of [sandbox.id, ...dirs.keys()]) {
      const dir = dirs.get(id);
      const [pid] = dir === undefined ? [] : await containerPids(o.cgroups, dir);
      const found = pid === undefined ? undefined : await host.network(pid);
      if (found) return networkStats(time, found);
    }
    return undefined;
  }

  async #processes(pod: ObservedPod, runtime: RuntimeStats): Promise<number | undefined> {
    const { o, sampler } = this.#p;
    const sandbox = sandboxOf(pod, pod.containers);
    const runtimeStats = sandbox && runtime.sandboxes.get(sandbox.id)?.process?.processCount;
    if (runtimeStats) return Number(runtimeStats.value);
    const cgroup = o.cgroupOf(pod.uid);
    if (cgroup === undefined) return undefined;
    const dirs = await sampler.containers(cgroup);
    const ids = [...pod.containers, ...(o.isCrio ? pod.sandboxes : [])].map(({ id }): string => id);
    const lists = await Promise.all(
      ids.flatMap((id) => dirs.get(id) ?? []).map((dir) => o.cgroups.pids(dir)),
    );
    return lists.length === 0 ? undefined : lists.flat().length;
  }

  async #volumes(pod: ObservedPod): Promise<VolumeStats[]> {
    const { o } = this.#p;
    try {
      return ((await o.volumes?.stats(pod.uid)) ?? []).map(volumeOf);
    } catch (error) {
      o.logger.debug(4, "Failed to collect volume stats", { podUID: pod.uid, err: messageOf(error) });
      return [];
    }
  }

  #isEphemeral(pod: ObservedPod, name: string): boolean {
    const volume = this.#p.o.pod(pod.uid)?.spec.volumes?.find((v) => v.name === name);
    return volume !== undefined && isEphemeral(volume);
  }
}

/** The sandbox of the running containers. */
function sandboxOf(pod: ObservedPod, containers: readonly ObservedContainer[]) {
  const ids = new Set<string>(containers.filter((c) => c.state === "running").map((c) => c.sandboxId));
  return pod.sandboxes.find(({ id }) => ids.has(id)) ?? pod.sandboxes[0];
}

function volumeOf({ name, claim, time, healthy, ...usage }: VolumeStat): VolumeStats {
  const {
    availableBytes = 0,
    capacityBytes = 0,
    usedBytes = 0,
    inodesFree = 0,
    inodes = 0,
    inodesUsed = 0,
  } = usage;
  const fs: FsStats = {
    time: rfc3339(time),
    availableBytes,
    capacityBytes,
    usedBytes,
    inodesFree,
    inodes,
    inodesUsed,
  };
  return {
    ...fs,
    name,
    ...(claim && { pvcRef: { name: claim.name, namespace: claim.namespace } }),
    ...(healthy !== undefined && { volumeHealthStats: { abnormal: !healthy } }),
  };
}

/** Disk usage of the termination message files of a pod, by container, including the files of earlier starts. */
function messageFilesOf(rootDir: string, uid: PodUid): Promise<ReadonlyMap<string, FileUsage>> {
  return usageByDirectory(join(rootDir, "pods", uid, "containers"));
}

/**
 * Adds the termination message files to the logs of their containers, because a container can write any amount to its file. Only evictions use
 * the result: as in the reference kubelet, the summary does not include these files.
 */
function withMessageFiles(
  stats: PodStats,
  messages: ReadonlyMap<string, FileUsage>,
  space: FsSpace,
): PodStats {
  const ephemeral = stats["ephemeral-storage"];
  return {
    ...stats,
    containers: stats.containers.map((container) => {
      const usage = messages.get(container.name);
      return usage
        ? { ...container, logs: added(container.logs ?? { time: container.startTime, ...space }, usage) }
        : container;
    }),
    // All of them: init containers have terminated when the others run.
    ...(ephemeral && { "ephemeral-storage": [...messages.values()].reduce(added, ephemeral) }),
  };
}

function added(fs: FsStats, { bytes, files }: FileUsage): FsStats {
  return { ...fs, usedBytes: (fs.usedBytes ?? 0) + bytes, inodesUsed: (fs.inodesUsed ?? 0) + files };
}
