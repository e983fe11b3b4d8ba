import type {
  CgroupFilesystem,
  CgroupResources,
  RemoveOptions,
} from "../../../lib/host/cgroups/cgroup-filesystem.ts";
import { type CgroupDriver, type CgroupName, childName, parseName, toPath } from "./names.ts";

/**
 * Cgroups by name, independent of how the node's cgroup driver (cgroupfs or systemd) names and creates them. It has the operations of
 * CgroupFilesystem.
 */
export interface CgroupManager {
  readonly driver: CgroupDriver;
  readonly version: 1 | 2;
  /** The path below the cgroup mounts, which is also what the runtime expects as cgroup parent. */
  pathOf(name: CgroupName): string;
  /** The cgroup that a configuration field names: "/kube.slice" with systemd, "/kube" with cgroupfs. */
  nameOf(path: string): CgroupName;
  exists(name: CgroupName): Promise<boolean>;
  missingControllers(name: CgroupName): Promise<string[] | undefined>;
  create(name: CgroupName, resources: CgroupResources): Promise<void>;
  update(name: CgroupName, resources: CgroupResources): Promise<void>;
  remove(name: CgroupName, options?: RemoveOptions): Promise<void>;
  pids(name: CgroupName): Promise<number[]>;
  /** Direct child cgroups that the driver of the node may have created; scopes of containers are not. */
  children(name: CgroupName): Promise<CgroupName[]>;
  /** The names of all direct child cgroups, regardless of what created them. */
  entries(name: CgroupName): Promise<string[]>;
  /** Kills all processes in one of these and removes it. */
  removeEntry(name: CgroupName, entry: string): Promise<void>;
}

/** The operations that all drivers have in common: a cgroup is a directory at the path of its name. */
export abstract class DirectoryCgroups implements CgroupManager {
  readonly driver: CgroupDriver;
  readonly version: 1 | 2;
  protected readonly filesystem: CgroupFilesystem;

  protected constructor(filesystem: CgroupFilesystem, driver: CgroupDriver) {
    this.filesystem = filesystem;
    this.driver = driver;
    this.version = filesystem.version;
  }

  abstract create(name: CgroupName, resources: CgroupResources): Promise<void>;
  abstract update(name: CgroupName, resources: CgroupResources): Promise<void>;
  abstract remove(name: CgroupName, options?: RemoveOptions): Promise<void>;

  pathOf(name: CgroupName): string {
    return toPath(name, this.driver);
  }

  nameOf(path: string): CgroupName {
    return parseName(path, this.driver);
  }

  exists(name: CgroupName): Promise<boolean> {
    return this.filesystem.exists(this.pathOf(name));
  }

  missingControllers(name: CgroupName): Promise<string[] | undefined> {
    return this.filesystem.missingControllers(this.pathOf(name));
  }

  pids(name: CgroupName): Promise<number[]> {
    return this.filesystem.pids(this.pathOf(name));
  }

  entries(name: CgroupName): Promise<string[]> {
    return this.filesystem.children(this.pathOf(name));
  }

  removeEntry(name: CgroupName, entry: string): Promise<void> {
    return this.filesystem.remove(`${this.pathOf(name)}/${entry}`);
  }

  async children(name: CgroupName): Promise<CgroupName[]> {
    const dirs = await this.filesystem.children(this.pathOf(name));
    const children = dirs.map((dir) => childName(name, dir, this.driver));
    return children.filter((child) => child !== undefined);
  }
}

/** The cgroupfs driver: directories, and nothing else. */
export class CgroupfsManager extends DirectoryCgroups {
  constructor(filesystem: CgroupFilesystem) {
    super(filesystem, "cgroupfs");
  }

  create(name: CgroupName, resources: CgroupResources): Promise<void> {
    return this.filesystem.create(this.pathOf(name), resources);
  }

  update(name: CgroupName, resources: CgroupResources): Promise<void> {
    return this.filesystem.update(this.pathOf(name), resources);
  }

  remove(name: CgroupName, options?: RemoveOptions): Promise<void> {
    return this.filesystem.remove(this.pathOf(name), options);
  }
}
