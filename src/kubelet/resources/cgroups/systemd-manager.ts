import type { UnitProperty } from "../../../lib/clients/systemd/systemd-client.ts";
import type {
  CgroupFilesystem,
  CgroupResources,
  RemoveOptions,
} from "../../../lib/host/cgroups/cgroup-filesystem.ts";
import { DirectoryCgroups } from "./cgroup-manager.ts";
import type { CgroupName } from "./names.ts";
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
 * The systemd driver: each cgroup is a slice, which systemd creates, limits and removes. Limits that systemd does not manage
 * (controllers that it does not delegate, huge pages) are written to the files of the cgroup after systemd has written its own.
 */
export class SystemdManager extends DirectoryCgroups {
  readonly #units: SystemdUnits;

  constructor(filesystem: CgroupFilesystem, units: SystemdUnits) {
    super(filesystem, "systemd");
    this.#units = units;
  }

  async create(name: CgroupName, resources: CgroupResources): Promise<void> {
    const unit = this.#unitOf(name);
    await this.#units.startTransientUnit(
      unit,
      sliceProperties(unit, this.#unitOf(name.slice(0, -1)), this.version),
    );
    // systemd delegates only the controllers that its own properties need.
    await this.filesystem.create(this.pathOf(name), {});
    await this.update(name, resources);
  }

  async update(name: CgroupName, resources: CgroupResources): Promise<void> {
    const limits = systemdLimits(resources, this.version, await this.#units.version());
    if (limits.properties.length > 0)
      await this.#units.setUnitProperties(this.#unitOf(name), limits.properties);
    await this.filesystem.update(this.pathOf(name), limits.resources);
  }

  /** Processes are killed first: systemd would send them SIGTERM and wait for up to 90 s. */
  async remove(name: CgroupName, options?: RemoveOptions): Promise<void> {
    const path = this.pathOf(name);
    if ((await this.filesystem.missingControllers(path)) !== undefined) {
      await this.filesystem.killAll(path, options);
      await this.#units.stopUnit(this.#unitOf(name), { signal: options?.signal });
    }
    // systemd leaves the directories of controllers that it does not manage.
    await this.filesystem.remove(path, options);
  }

  #unitOf(name: CgroupName): string {
    return name.length === 0 ? rootSlice : this.pathOf(name).split("/").at(-1)!;
  }
}
