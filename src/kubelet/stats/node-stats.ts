import { messageOf } from "../../lib/base/errors.ts";
import type { FilesystemSpace } from "../../lib/host/disk-usage.ts";
import type { ContainerStats, FsStats, NodeStats, RlimitStats } from "../../lib/model/stats-summary.ts";
import type { CgroupSampler } from "./cgroup-sampler.ts";
import { present } from "./container-stats.ts";
import { runtimeFilesystems } from "./filesystems.ts";
import { networkStats } from "./network.ts";
import type { StatsHost, StatsOptions } from "./options.ts";
import { rfc3339 } from "./times.ts";

/** The runtime walks its disk for this, which may be slow. */
const imageFsTimeoutMs = 10_000;

/** The stats of the machine and of system cgroups. */
export class NodeStatsProvider {
  readonly #o: StatsOptions;
  readonly #host: StatsHost;
  readonly #sampler: CgroupSampler;

  constructor(options: StatsOptions, host: StatsHost, sampler: CgroupSampler) {
    this.#o = options;
    this.#host = host;
    this.#sampler = sampler;
  }

  async cpuAndMemory(): Promise<NodeStats> {
    const { nodeName, bootedAt, machine } = this.#o;
    const [systemContainers, usage] = await Promise.all([
      this.#systemContainers(),
      this.#sampler.stats("/", bootedAt, machine),
    ]);
    return { nodeName, systemContainers, startTime: rfc3339(bootedAt), ...usage };
  }

  async whole(nodeFs: FilesystemSpace): Promise<NodeStats> {
    const time = rfc3339(this.#o.clock.wall());
    const [{ swap, ...basic }, network, runtime, rlimit] = await Promise.all([
      this.cpuAndMemory(),
      this.#host.network("self"),
      this.#runtimeFs(),
      this.#rlimit(),
    ]);
    return {
      ...basic,
      ...(network && { network: networkStats(time, network) }),
      fs: fsStats(time, nodeFs),
      ...(runtime && { runtime }),
      rlimit,
      ...(swap && { swap }),
    };
  }

  async #systemContainers(): Promise<ContainerStats[]> {
    const { podsCgroup, startedAt, cgroups } = this.#o;
    const { kubelet, runtime, misc } = await this.#o.systemCgroups();
    const named = [
      { name: "kubelet", path: kubelet, startedAt },
      { name: "runtime", path: runtime, startedAt: undefined },
      { name: "misc", path: misc, startedAt: undefined },
      { name: "pods", path: podsCgroup, startedAt: undefined },
    ];
    const all = await Promise.all(
      named.map(async ({ name, path, startedAt }): Promise<ContainerStats | undefined> => {
        if (!path) return undefined;
        const createdAt = await cgroups.createdAt(path);
        const stats = createdAt === undefined ? undefined : await this.#sampler.stats(path, createdAt);
        return stats && { name, startTime: rfc3339(startedAt ?? createdAt!), ...stats };
      }),
    );
    return all.filter((stats) => stats !== undefined);
  }

  /** If the runtime does not respond, the rest is still reported. */
  async #runtimeFs(): Promise<NodeStats["runtime"]> {
    const { runtime, logger, isCrio, podStatsFromRuntime } = this.#o;
    try {
      const info = await runtime.imageFsInfo({ timeoutMs: imageFsTimeoutMs });
      return await runtimeFilesystems(info, {
        space: (path) => this.#host.space(path).catch(() => undefined),
        device: (path) => this.#host.device(path),
        asCadvisor: isCrio && !podStatsFromRuntime,
      });
    } catch (error) {
      logger.debug(3, "Failed to get image filesystem stats from the runtime", { err: messageOf(error) });
      return undefined;
    }
  }

  async #rlimit(): Promise<RlimitStats> {
    const { max, running } = await this.#host.tasks();
    return { time: rfc3339(this.#o.clock.wall()), ...present({ maxpid: max, curproc: running }) };
  }
}

function fsStats(time: string, space: FilesystemSpace): FsStats {
  const { availableBytes, capacityBytes, usedBytes, inodesFree, inodes, inodesUsed } = space;
  return { time, availableBytes, capacityBytes, usedBytes, inodesFree, inodes, inodesUsed };
}
