import type { CgroupResources } from "../../../lib/host/cgroups/cgroup-filesystem.ts";
import { type CgroupLimits, limitsReader } from "../../../lib/host/cgroups/limits-reader.ts";
import type { CgroupLayout } from "../../../lib/host/cgroups/mounted-cgroups.ts";
import { cgroupUsageReader } from "../../../lib/host/cgroups/usage-reader.ts";
import { containerIdIn } from "../../../lib/model/oom-kill.ts";
import type { Pod } from "../../../lib/model/pod.ts";
import type { ObservedContainer } from "../../state/observed-pods.ts";
import type { PodCgroups } from "./pod-cgroups.ts";

/** The limits and the memory usage of the pods' cgroups, for resizes. */
export class ResizeCgroups {
  readonly #cgroups: PodCgroups;
  readonly #readLimits: (path: string) => CgroupLimits;
  readonly #usage: ReturnType<typeof cgroupUsageReader>;

  constructor(cgroups: PodCgroups, layout: CgroupLayout) {
    this.#cgroups = cgroups;
    this.#readLimits = limitsReader(layout);
    this.#usage = cgroupUsageReader(layout);
  }

  /** The desired limits of the pod's cgroup; undefined if pods have no cgroups. */
  limitsFor(pod: Pod): CgroupResources | undefined {
    return this.#cgroups.limitsFor(pod);
  }

  /** The limits that it has. */
  currentLimits(pod: Pod): CgroupLimits {
    return this.#readLimits(this.#cgroups.parentFor(pod));
  }

  update(pod: Pod, resources: CgroupResources): Promise<void> {
    return this.#cgroups.update(pod, resources);
  }

  /** Bytes in use by the pod, or by one container. */
  async memoryUsage(pod: Pod, container?: ObservedContainer): Promise<bigint | undefined> {
    const path = this.#cgroups.parentFor(pod);
    const child =
      container && (await this.#usage.children(path)).find((name) => containerIdIn(name) === container.id);
    if (container && child === undefined) return undefined;
    const found = await this.#usage.read(child === undefined ? path : `${path}/${child}`, "memory");
    return found?.memory && BigInt(found.memory.usage);
  }
}
