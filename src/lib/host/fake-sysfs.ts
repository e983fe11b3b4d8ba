import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

export interface FakeCpu {
  core: number;
  socket: number;
  /** The NUMA node, if the kernel has any. */
  node?: number;
  /** The cache of level 3, and the CPUs that share it. */
  cache?: { id?: number; cpus: string };
}

/** The files of the kernel about these CPUs. */
export function writeFakeSysfs(root: string, online: string, cpus: Readonly<Record<number, FakeCpu>>): void {
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), `${text}\n`);
  };
  write("devices/system/cpu/online", online);
  mkdirSync(join(root, "devices/system/cpu/cpufreq"));
  for (const [id, { core, socket, node, cache }] of Object.entries(cpus)) {
    const dir = `devices/system/cpu/cpu${id}`;
    write(`${dir}/topology/core_id`, `${core}`);
    write(`${dir}/topology/physical_package_id`, `${socket}`);
    if (node !== undefined) mkdirSync(join(root, dir, `node${node}`));
    write(`${dir}/cache/index0/level`, "1");
    write(`${dir}/cache/index0/shared_cpu_list`, id);
    if (!cache) continue;
    write(`${dir}/cache/index3/level`, "3");
    write(`${dir}/cache/index3/shared_cpu_list`, cache.cpus);
    if (cache.id !== undefined) write(`${dir}/cache/index3/id`, `${cache.id}`);
  }
}
