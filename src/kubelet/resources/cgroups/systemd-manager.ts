import type { UnitProperty } from "../../../lib/clients/systemd/systemd-client.ts";
import type { CgroupDriver, CgroupResources, RemoveOptions } from "../../../lib/host/cgroups/driver.ts";
import type { CgroupManager } from "./cgroup-manager.ts";
import { type CgroupName, type CgroupNaming, childName, parseName, toPath } from "./names.ts";
import { sliceProperties, systemdLimits } from "./systemd-properties.ts";

/** The calls to systemd that slices need. */
export interface SystemdUnits {
  version(): Promise<number>;
  startTransientUnit(name: string, properties: readonly UnitProperty[]): Promise<void>;
  setUnitProperties(name: string, properties: readonly UnitProperty[]): Promise<void>;
  stopUnit(name: string, options?: { signal?: AbortSignal }): Promise<void>;
}

const rootSlice = "-.slice";

/**
 * The systemd driver: each cgroup is a slice, which systemd creates, limits and removes. What systemd does not manage
 * (controllers that it does not delegate, huge pages) is done in the files of the cgroup, after systemd has written its own.
 */
export class SystemdManager implements CgroupManager {
  readonly naming: CgroupNaming = "systemd";
  readonly version: 1 | 2;
  readonly #driver: CgroupDriver;
  readonly #units: SystemdUnits;

  constructor(driver: CgroupDriver, units: SystemdUnits) {
    this.#driver = driver;
    this.#units = units;
    this.version = driver.version;
  }

  pathOf(name: CgroupName): string {
    return toPath(name, this.naming);
  }

  nameOf(path: string): CgroupName {
    return parseName(path, this.naming);
  }

  exists(name: CgroupName): Promise<boolean> {
    return this.#driver.exists(this.pathOf(name));
  }

  lacks(name: CgroupName): Promise<string[] | undefined> {
    return this.#driver.lacks(this.pathOf(name));
  }

  async create(name: CgroupName, resources: CgroupResources): Promise<void> {
    const unit = this.#unitOf(name);
    await this.#units.startTransientUnit(
      unit,
      sliceProperties(unit, this.#unitOf(name.slice(0, -1)), this.version),
    );
    // systemd delegates only the controllers that its own properties need.
    await this.#driver.create(this.pathOf(name), {});
    await this.update(name, resources);
  }

  async update(name: CgroupName, resources: CgroupResources): Promise<void> {
    const limits = systemdLimits(resources, this.version, await this.#units.version());
    if (limits.properties.length > 0)
      await this.#units.setUnitProperties(this.#unitOf(name), limits.properties);
    await this.#driver.update(this.pathOf(name), limits.resources);
  }

  /** Processes are killed first: systemd would send them SIGTERM and wait for up to 90 s. */
  async remove(name: CgroupName, options?: RemoveOptions): Promise<void> {
    const path = this.pathOf(name);
    if ((await this.#driver.lacks(path)) !== undefined) {
      await this.#driver.killAll(path, options);
      await this.#units.stopUnit(this.#unitOf(name), { signal: options?.signal });
    }
    // systemd leaves the directories of controllers that it does not manage.
    await this.#driver.remove(path, options);
  }

  pids(name: CgroupName): Promise<number[]> {
    return this.#driver.pids(this.pathOf(name));
  }

  async children(name: CgroupName): Promise<CgroupName[]> {
    const dirs = await this.#driver.children(this.pathOf(name));
    const children = dirs.map((dir) => childName(name, dir, this.naming));
    return children.filter((child) => child !== undefined);
  }

  #unitOf(name: CgroupName): string {
    return name.length === 0 ? rootSlice : this.pathOf(name).split("/").at(-1)!;
  }
}
