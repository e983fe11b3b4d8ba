import { dirname, join } from "node:path";
import { type Clock, systemClock } from "../../base/clock.ts";
import { errnoOf } from "../../base/errors.ts";
import type { CgroupFilesystem, CgroupPath, CgroupResources, RemoveOptions } from "./cgroup-filesystem.ts";
import { type CgroupFiles, directCgroupFiles, isGone } from "./files.ts";
import { killProcesses, removeDirs } from "./remove.ts";
import { checkPath, pathAndParents, pidsBelow } from "./tree.ts";
import { sharesToWeight } from "./weight.ts";

/** The controllers that pods need, if the kernel has them. */
const podControllers = ["cpu", "cpuset", "memory", "hugetlb", "pids"];
const defaultPeriodUs = 100_000n;

export interface V2Options {
  /** The mount point of the unified hierarchy. */
  readonly root: string;
  readonly files?: CgroupFiles;
  readonly clock?: Clock;
  readonly kill?: (pid: number) => void;
}

/** One cgroup is one directory; a controller works in it if its parent delegates it. */
export class CgroupV2 implements CgroupFilesystem {
  readonly version = 2;
  readonly #root: string;
  readonly #files: CgroupFiles;
  readonly #clock: Clock;
  readonly #kill: (pid: number) => void;
  #available: Promise<string[]> | undefined;

  constructor(options: V2Options) {
    this.#root = options.root;
    this.#files = options.files ?? directCgroupFiles;
    this.#clock = options.clock ?? systemClock;
    this.#kill = options.kill ?? ((pid) => process.kill(pid, "SIGKILL"));
  }

  async exists(path: CgroupPath): Promise<boolean> {
    return (await this.missingControllers(path))?.length === 0;
  }

  async missingControllers(path: CgroupPath): Promise<string[] | undefined> {
    try {
      const available = await this.#controllers(join(this.#root, path));
      return (await this.#usable()).filter((name) => !available.includes(name));
    } catch (error) {
      if (isGone(error)) return undefined;
      throw error;
    }
  }

  async create(path: CgroupPath, resources: CgroupResources): Promise<void> {
    checkPath(path);
    if (await this.#delegatesAll(dirname(path))) await this.#files.mkdir(join(this.#root, path));
    else await this.#createWithParents(path);
    await this.update(path, resources);
  }

  async #createWithParents(path: CgroupPath): Promise<void> {
    await this.#delegate(this.#root);
    const steps = pathAndParents(path).map((step) => join(this.#root, step));
    for (const [index, dir] of steps.entries()) {
      await this.#files.mkdir(dir);
      if (index < steps.length - 1) await this.#delegate(dir);
    }
  }

  /** The kernel allows that only if all parents of this cgroup do so too. */
  async #delegatesAll(path: CgroupPath): Promise<boolean> {
    try {
      return (await this.#notDelegated(join(this.#root, path))).length === 0;
    } catch (error) {
      if (isGone(error)) return false;
      throw error;
    }
  }

  async #notDelegated(dir: string): Promise<string[]> {
    const enabled = (await this.#files.read(join(dir, "cgroup.subtree_control"))).split(/\s+/);
    return (await this.#usable()).filter((name) => !enabled.includes(name));
  }

  async update(path: CgroupPath, resources: CgroupResources): Promise<void> {
    checkPath(path);
    const { cpuShares, cpuQuota, cpuPeriod, memory, pids, cpuset, hugepages, unified } = resources;
    const set = (file: string, value: bigint | string) =>
      this.#files.write(join(this.#root, path, file), String(value));
    const limit = (value: bigint) => (value < 0n ? "max" : value);
    if (cpuShares !== undefined) await set("cpu.weight", sharesToWeight(cpuShares));
    if (cpuQuota || cpuPeriod) {
      await set("cpu.max", `${cpuQuota && cpuQuota > 0n ? cpuQuota : "max"} ${cpuPeriod ?? defaultPeriodUs}`);
    }
    if (memory !== undefined) await set("memory.max", limit(memory));
    if (pids !== undefined) await set("pids.max", limit(pids));
    if (cpuset !== undefined && (await this.#usable()).includes("cpuset")) await set("cpuset.cpus", cpuset);
    if (hugepages && (await this.#usable()).includes("hugetlb")) {
      for (const [size, bytes] of hugepages) {
        await set(`hugetlb.${size}.max`, bytes);
        await set(`hugetlb.${size}.rsvd.max`, bytes).catch(ignoreMissing);
      }
    }
    for (const [file, value] of Object.entries(unified ?? {})) await set(file, value);
  }

  async killAll(path: CgroupPath, options?: RemoveOptions): Promise<void> {
    const dirs = [join(this.#root, checkPath(path))];
    await killProcesses(dirs, { files: this.#files, clock: this.#clock, kill: this.#kill }, options);
  }

  async remove(path: CgroupPath, options?: RemoveOptions): Promise<void> {
    const dir = join(this.#root, checkPath(path));
    await removeDirs([dir], { files: this.#files, clock: this.#clock, kill: this.#kill }, options);
  }

  async pids(path: CgroupPath): Promise<number[]> {
    return pidsBelow(this.#files, [join(this.#root, checkPath(path))]);
  }

  async children(path: CgroupPath): Promise<string[]> {
    return this.#files.dirs(join(this.#root, path));
  }

  async #controllers(dir: string): Promise<string[]> {
    return (await this.#files.read(join(dir, "cgroup.controllers"))).split(/\s+/).filter(Boolean);
  }

  #usable(): Promise<string[]> {
    this.#available ??= this.#controllers(this.#root).then((available) =>
      podControllers.filter((name) => available.includes(name)),
    );
    return this.#available;
  }

  /** Lets the children of this cgroup use the controllers. A controller that cannot be delegated does not affect the others. */
  async #delegate(dir: string): Promise<void> {
    const file = join(dir, "cgroup.subtree_control");
    const missing = await this.#notDelegated(dir);
    if (missing.length === 0) return;
    const enable = (names: string[]) => this.#files.write(file, names.map((name) => `+${name}`).join(" "));
    try {
      await enable(missing);
    } catch (error) {
      let enabledOne = false;
      for (const name of missing) {
        enabledOne = await enable([name]).then(
          () => true,
          () => enabledOne,
        );
      }
      if (!enabledOne) throw error;
    }
  }
}

function ignoreMissing(error: unknown): void {
  if (errnoOf(error) !== "ENOENT") throw error;
}
