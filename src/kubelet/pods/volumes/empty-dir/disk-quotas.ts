import { errnoOf, messageOf } from "../../../../lib/base/errors.ts";
import type { Logger } from "../../../../lib/base/logger.ts";
import type { DiskUsage } from "../../../../lib/host/disk-usage.ts";
import type { ProjectQuotas } from "../../../../lib/host/project-quotas.ts";
import type { Pod } from "../../../../lib/model/pod.ts";
import { freeProject, reservedProject, withoutReservation, withReservation } from "./project-files.ts";
import type { ProjectReservations } from "./project-reservations.ts";

export interface DiskQuotasOptions {
  readonly quotas: ProjectQuotas;
  readonly reservations: Pick<ProjectReservations, "read" | "update">;
  readonly logger: Logger;
}

/**
 * Lets the kernel count the usage of volumes (gate LocalStorageCapacityIsolationFSQuotaMonitoring). A volume without a project is
 * measured by reading its directories, which takes longer and misses files that are deleted but still open.
 */
export class DiskQuotas {
  readonly #o: DiskQuotasOptions;
  readonly #projects = new Map<string, number>();
  #reported = false;

  constructor(options: DiskQuotasOptions) {
    this.#o = options;
  }

  /**
   * Assigns a project to a volume that is empty, or finds the one that it has. Only for pods in a user namespace: the root user of
   * others could move files to another project. Never rejects.
   */
  async assign(dir: string, pod: Pod, o: { readonly isEmpty: boolean }): Promise<void> {
    if (pod.spec.hostUsers !== false || this.#projects.has(dir)) return;
    const { quotas, logger } = this.#o;
    try {
      if (!(await quotas.isCounting(dir))) return;
      const project = await this.#projectFor(dir, o.isEmpty);
      if (project !== undefined) this.#projects.set(dir, project);
    } catch (error) {
      if (!this.#reported)
        logger.warn("Failed to assign project quota, measuring volumes by reading their directories", {
          path: dir,
          err: messageOf(error),
        });
      this.#reported = true;
    }
  }

  /** Undefined if the kernel does not count the usage of this directory. */
  async usage(dir: string): Promise<DiskUsage | undefined> {
    const project = this.#projects.get(dir);
    return project === undefined ? undefined : this.#o.quotas.usageOf(dir, project).catch(() => undefined);
  }

  /** Releases the project of a directory that is about to be removed, even after a restart of the agent. Never rejects. */
  async release(dir: string): Promise<void> {
    const { quotas, reservations, logger } = this.#o;
    this.#projects.delete(dir);
    try {
      if (reservedProject(await reservations.read(), dir) === undefined) return;
      await quotas.setProject(dir, 0).catch((error: unknown) => {
        if (errnoOf(error) !== "ENOENT") throw error;
      });
      await reservations.update((files, write) => write(withoutReservation(files, dir)));
    } catch (error) {
      logger.warn("Failed to release project quota", { path: dir, err: messageOf(error) });
    }
  }

  #projectFor(dir: string, isEmpty: boolean): Promise<number | undefined> {
    const { quotas, reservations } = this.#o;
    return reservations.update(async (files, write) => {
      const reserved = reservedProject(files, dir);
      if (reserved !== undefined && (await quotas.projectOf(dir)) === reserved) return reserved;
      // Files that exist already would not be counted.
      if (!isEmpty) return undefined;
      const isFree = async (id: number) => {
        const { bytes, inodes } = await quotas.usageOf(dir, id);
        return bytes === 0 && inodes === 0;
      };
      const project = reserved ?? (await freeProject(files, isFree));
      if (reserved === undefined) await write(withReservation(files, dir, project));
      await quotas.setProject(dir, project);
      return project;
    });
  }
}
