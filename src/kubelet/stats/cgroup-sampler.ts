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

  /** The direct child cgroups, by the IDs of the containers in them. */
  async containers(path: string): Promise<ReadonlyMap<string, string>> {
    const names = await this.#o.cgroups.children(path);
    return new Map(names.map((name) => [containerIdOf(name), `${path === "/" ? "" : path}/${name}`]));
  }
}

/** "cri-containerd-<id>.scope" where systemd creates cgroups, "<id>" elsewhere. */
export function containerIdOf(dir: string): string {
  if (!dir.endsWith(".scope")) return dir;
  const name = dir.slice(0, -".scope".length);
  return name.slice(name.lastIndexOf("-") + 1);
}
