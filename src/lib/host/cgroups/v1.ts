import { dirname, join } from "node:path";
import { allDone } from "../../base/all-done.ts";
import { type Clock, systemClock } from "../../base/clock.ts";
import { errnoOf } from "../../base/errors.ts";
import type { CgroupFilesystem, CgroupPath, CgroupResources, RemoveOptions } from "./cgroup-filesystem.ts";
import { type CgroupFiles, directCgroupFiles } from "./files.ts";
import { killProcesses, removeDirs } from "./remove.ts";
import { checkPath, pidsBelow } from "./tree.ts";

/** The hierarchies that decide whether a cgroup exists; others are optional. */
const requiredControllers = new Set(["cpu", "cpuacct", "cpuset", "hugetlb", "memory", "pids", "systemd"]);

export interface V1Options {
  readonly mounts: ReadonlyMap<string, string>;
  readonly files?: CgroupFiles;
  readonly clock?: Clock;
  readonly kill?: (pid: number) => void;
}

/** One cgroup is one directory in each mounted hierarchy. */
export class CgroupV1 implements CgroupFilesystem {
  readonly version = 1;
  readonly #mounts: ReadonlyMap<string, string>;
  readonly #files: CgroupFiles;
  readonly #clock: Clock;
  readonly #kill: (pid: number) => void;

  constructor(options: V1Options) {
    this.#mounts = options.mounts;
    this.#files = options.files ?? directCgroupFiles;
    this.#clock = options.clock ?? systemClock;
    this.#kill = options.kill ?? ((pid) => process.kill(pid, "SIGKILL"));
  }

  async exists(path: CgroupPath): Promise<boolean> {
    return (await this.missingControllers(path))?.length === 0;
  }

  async missingControllers(path: CgroupPath): Promise<string[] | undefined> {
    const mounts = [...this.#mounts].filter(([name]) => requiredControllers.has(name));
    const found = await Promise.all(mounts.map(([, mount]) => this.#present(join(mount, path))));
    if (mounts.length > 0 && !found.includes(true)) return undefined;
    return mounts.filter((_, index) => !found[index]).map(([name]) => name);
  }

  async create(path: CgroupPath, resources: CgroupResources): Promise<void> {
    checkPath(path);
    await allDone(this.#mountPoints().map((mount) => this.#createIn(mount, path)));
    await this.update(path, resources);
  }

  async update(path: CgroupPath, resources: CgroupResources): Promise<void> {
    checkPath(path);
    const { cpuShares, memory, pids, cpuset, hugepages } = resources;
    if (cpuShares !== undefined) await this.#set("cpu", path, "cpu.shares", cpuShares);
    await this.#setQuota(path, resources);
    if (memory !== undefined) await this.#set("memory", path, "memory.limit_in_bytes", memory);
    if (pids !== undefined) await this.#set("pids", path, "pids.max", pids < 0n ? "max" : pids);
    if (cpuset !== undefined) await this.#set("cpuset", path, "cpuset.cpus", cpuset);
    for (const [size, limit] of hugepages ?? []) {
      await this.#set("hugetlb", path, `hugetlb.${size}.limit_in_bytes`, limit);
      await this.#set("hugetlb", path, `hugetlb.${size}.rsvd.limit_in_bytes`, limit).catch(ignoreMissing);
    }
  }

  async killAll(path: CgroupPath, options?: RemoveOptions): Promise<void> {
    const dirs = this.#dirs(checkPath(path));
    await killProcesses(dirs, { files: this.#files, clock: this.#clock, kill: this.#kill }, options);
  }

  async remove(path: CgroupPath, options?: RemoveOptions): Promise<void> {
    checkPath(path);
    await removeDirs(this.#dirs(path), { files: this.#files, clock: this.#clock, kill: this.#kill }, options);
  }

  async pids(path: CgroupPath): Promise<number[]> {
    return pidsBelow(this.#files, this.#dirs(checkPath(path)));
  }

  async children(path: CgroupPath): Promise<string[]> {
    const lists = await Promise.all(this.#dirs(path).map((dir) => this.#files.dirs(dir)));
    return [...new Set(lists.flat())];
  }

  /** Controllers that are mounted together share one directory. */
  #mountPoints(): string[] {
    return [...new Set(this.#mounts.values())];
  }

  #dirs(path: CgroupPath): string[] {
    return this.#mountPoints().map((mount) => join(mount, path));
  }

  async #present(dir: string): Promise<boolean> {
    try {
      await this.#files.read(join(dir, "cgroup.procs"));
      return true;
    } catch (error) {
      if (errnoOf(error) === "ENOENT") return false;
      throw error;
    }
  }

  /** Its parents usually exist. */
  async #createIn(mount: string, path: CgroupPath): Promise<void> {
    const dir = join(mount, path);
    try {
      await this.#files.mkdir(dir);
    } catch (error) {
      if (errnoOf(error) !== "ENOENT" || dirname(path) === "/") throw error;
      await this.#createIn(mount, dirname(path));
      await this.#files.mkdir(dir);
    }
    // A new cpuset has no CPUs and no memory nodes, and nothing can run in it until they are set.
    if (mount === this.#mounts.get("cpuset"))
      for (const file of ["cpuset.cpus", "cpuset.mems"]) await this.#inherit(mount, path, file);
  }

  /** Resolves to the value. A parent has none if an agent was killed before it had set it. */
  async #inherit(mount: string, path: CgroupPath, file: string): Promise<string> {
    const own = (await this.#files.read(join(mount, path, file))).trim();
    if (own !== "" || path === "/") return own;
    const inherited = await this.#inherit(mount, dirname(path), file);
    await this.#files.write(join(mount, path, file), inherited);
    return inherited;
  }

  async #setQuota(path: CgroupPath, { cpuQuota, cpuPeriod }: CgroupResources): Promise<void> {
    const setPeriod = async () => {
      if (cpuPeriod) await this.#set("cpu", path, "cpu.cfs_period_us", cpuPeriod);
    };
    // A quota of 0 means no limit.
    const setQuota = async () => {
      if (cpuQuota) await this.#set("cpu", path, "cpu.cfs_quota_us", cpuQuota);
    };
    try {
      await setPeriod();
    } catch (error) {
      // If the old quota is out of bounds with the new period, the quota has to change first.
      if (errnoOf(error) !== "EINVAL" || !cpuQuota) throw error;
      await setQuota();
      await setPeriod();
      return;
    }
    await setQuota();
  }

  /** Does nothing on a host that does not have the controller. */
  async #set(controller: string, path: CgroupPath, file: string, value: bigint | string): Promise<void> {
    const mount = this.#mounts.get(controller);
    if (mount !== undefined) await this.#files.write(join(mount, path, file), String(value));
  }
}

function ignoreMissing(error: unknown): void {
  if (errnoOf(error) !== "ENOENT") throw error;
}
