import type { Clock } from "../../lib/base/clock.ts";
import type { WallTime } from "../../lib/base/time.ts";
import type { CgroupUsageReader } from "../../lib/host/cgroups/usage.ts";
import type { CpuRates } from "./cpu-rates.ts";
import { type CgroupStats, type CgroupStatsOptions, cgroupStats } from "./from-cgroup.ts";
import { rfc3339 } from "./times.ts";

export interface CgroupSamplerOptions {
  readonly clock: Clock;
  readonly cgroups: CgroupUsageReader;
  readonly rates: CpuRates;
  readonly psi: boolean;
}

/** The statistics of cgroups, by their paths. */
export class CgroupSampler {
  readonly #o: CgroupSamplerOptions;

  constructor(options: CgroupSamplerOptions) {
    this.#o = options;
  }

  /** Undefined if there is no such cgroup. */
  async stats(
    path: string,
    startedAt: WallTime,
    machine?: CgroupStatsOptions["machine"],
  ): Promise<CgroupStats | undefined> {
    const { clock, cgroups, rates, psi } = this.#o;
    const usage = await cgroups.read(path, "basic");
    if (!usage) return undefined;
    const now = clock.wall();
    const nanoCores = usage.cpu ? rates.rate(path, now, usage.cpu.usageNs, startedAt) : 0;
    return cgroupStats({ time: rfc3339(now), usage, nanoCores, psi, ...(machine && { machine }) });
  }

  /** The cgroups of containers directly below, by the IDs of the containers. */
  async containers(path: string): Promise<ReadonlyMap<string, string>> {
    const found = new Map<string, string>();
    for (const name of await this.#o.cgroups.children(path)) {
      const id = containerIdOf(name);
      if (id !== undefined) found.set(id, `${path === "/" ? "" : path}/${name}`);
    }
    return found;
  }
}

/**
 * "cri-containerd-<id>.scope" where systemd creates cgroups, "<id>" elsewhere; with CRI-O "crio-<id>.scope" and "crio-<id>". Undefined for
 * the process that monitors a container of CRI-O, which may have a cgroup of its own there.
 */
export function containerIdOf(dir: string): string | undefined {
  if (dir.startsWith("crio-conmon-")) return undefined;
  const isScope = dir.endsWith(".scope");
  const name = isScope ? dir.slice(0, -".scope".length) : dir;
  if (name.startsWith("crio-")) return name.slice("crio-".length);
  return isScope ? name.slice(name.lastIndexOf("-") + 1) : name;
}

/** The processes of a container. On cgroup v2 with systemd, crun runs them in a child cgroup. */
export async function containerPids(cgroups: CgroupUsageReader, dir: string): Promise<number[]> {
  const pids = await cgroups.pids(dir);
  if (pids.length > 0 || cgroups.version === 1) return pids;
  const children = await cgroups.children(dir);
  return children.includes("container") ? cgroups.pids(`${dir}/container`) : [];
}
