import type { CgroupFilesystem, CgroupResources } from "../../../lib/host/cgroups/cgroup-filesystem.ts";

/** Cgroups and their limits in memory. For tests. */
export class FakeCgroupFilesystem implements CgroupFilesystem {
  readonly version: 1 | 2 = 2;
  readonly cgroups = new Map<string, CgroupResources>();
  updateError: Error | undefined;
  /** The controllers that every cgroup lacks. */
  missing: string[] = [];
  async exists(path: string) {
    return this.cgroups.has(path);
  }
  async missingControllers(path: string) {
    return this.cgroups.has(path) ? this.missing : undefined;
  }
  async create(path: string, resources: CgroupResources) {
    this.cgroups.set(path, { ...this.cgroups.get(path), ...resources });
  }
  async update(path: string, resources: CgroupResources) {
    if (this.updateError) throw this.updateError;
    if (!this.cgroups.has(path)) throw new Error(`ENOENT: ${path}`);
    await this.create(path, resources);
  }
  async killAll() {}
  async remove(path: string) {
    for (const name of [...this.cgroups.keys()]) {
      if (name === path || name.startsWith(`${path}/`)) this.cgroups.delete(name);
    }
  }
  async pids() {
    return [];
  }
  async children(path: string) {
    const names = [...this.cgroups.keys()].filter((name) => name.startsWith(`${path}/`));
    return [...new Set(names.map((name) => name.slice(path.length + 1).split("/")[0]!))];
  }
}
