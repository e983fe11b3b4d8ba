import { KubeletError } from "../../lib/base/errors.ts";
import type { CgroupUsage } from "../../lib/host/cgroups/usage.ts";
import type { FilesystemSpace } from "../../lib/host/disk-usage.ts";
import type { TaskCounts } from "../../lib/host/process-limits.ts";
import type { MemoryStats } from "../../lib/model/stats-summary.ts";
import type { StatsHost, StatsOptions } from "./options.ts";

type Memory = Pick<MemoryStats, "availableBytes" | "usageBytes" | "workingSetBytes">;

/** The available resources of the node; those that cannot be measured are absent. */
export interface NodePressureStats {
  readonly memory?: Memory | undefined;
  /** The memory of the cgroup of all pods. */
  readonly pods?: Memory | undefined;
  readonly nodeFs?: FilesystemSpace | undefined;
  readonly imageFs?: FilesystemSpace | undefined;
  readonly containerFs?: FilesystemSpace | undefined;
  readonly tasks?: TaskCounts | undefined;
}

/** The parts to measure. */
export interface PressureNeeds {
  readonly memory: boolean;
  readonly pods: boolean;
  readonly disks: boolean;
  readonly tasks: boolean;
}

interface RuntimeMounts {
  readonly images: string;
  readonly containers: string;
}

const imageFsWithinMs = 10_000;

/**
 * The few values that eviction decisions depend on. Each call measures them again. The cost does not depend on the number of pods: two
 * cgroups, three filesystems and three files of /proc.
 */
export class PressureStats {
  readonly #o: StatsOptions;
  readonly #host: StatsHost;
  /** They do not change while the runtime runs. */
  #mounts: RuntimeMounts | undefined;

  constructor(options: StatsOptions, host: StatsHost) {
    this.#o = options;
    this.#host = host;
  }

  async node(needs: PressureNeeds): Promise<NodePressureStats> {
    const { pressureCgroups: cgroups = this.#o.cgroups, machine, podsCgroup, rootDir } = this.#o;
    const space = (path: string | undefined) =>
      path === undefined || !needs.disks ? undefined : this.#host.space(path).catch(() => undefined);
    const [root, pods, nodeFs, imageFs, containerFs, tasks] = await Promise.all([
      needs.memory ? cgroups.read("/", "memory") : undefined,
      needs.pods ? cgroups.read(podsCgroup, "memory") : undefined,
      space(rootDir),
      space(this.#mounts?.images),
      this.#mounts?.containers === this.#mounts?.images ? undefined : space(this.#mounts?.containers),
      needs.tasks ? this.#host.tasks() : undefined,
    ]);
    return {
      memory: memoryOf(root, machine.memoryBytes),
      pods: memoryOf(pods, pods?.memory?.limit),
      nodeFs,
      imageFs,
      containerFs: containerFs ?? imageFs,
      tasks,
    };
  }

  /** Which of nodefs, imagefs and containerfs are separate filesystems. Fails while the runtime does not respond. */
  async layout(): Promise<{ dedicatedImageFs: boolean; splitContainerFs: boolean }> {
    const { runtime, rootDir } = this.#o;
    const info = await runtime.imageFsInfo({ timeoutMs: imageFsWithinMs });
    const images = info.imageFilesystems[0]?.fsId?.mountpoint;
    if (!images) throw new KubeletError("ImageFs", "imageFs information is unavailable");
    const containers = info.containerFilesystems[0]?.fsId?.mountpoint || images;
    const [nodeDevice, imageDevice, containerDevice] = await Promise.all(
      [rootDir, images, containers].map((path) => this.#host.device(path)),
    );
    if (imageDevice === undefined)
      throw new KubeletError("ImageFs", `imagefs device is not found: ${images}`);
    this.#mounts = { images, containers };
    const splitContainerFs = containerDevice !== undefined && containerDevice !== imageDevice;
    return { dedicatedImageFs: imageDevice !== nodeDevice || splitContainerFs, splitContainerFs };
  }
}

function memoryOf(usage: CgroupUsage | undefined, capacity: number | undefined): Memory | undefined {
  if (!usage?.memory) return undefined;
  const { usage: usageBytes, workingSet: workingSetBytes } = usage.memory;
  return {
    // Negative above a limit that was lowered: the sum of both remains the limit.
    ...(capacity !== undefined && { availableBytes: capacity - workingSetBytes }),
    usageBytes,
    workingSetBytes,
  };
}
