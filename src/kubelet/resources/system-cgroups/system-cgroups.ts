import { posix } from "node:path";
import { type Clock, sleep } from "../../../lib/base/clock.ts";
import type { Component } from "../../../lib/base/component.ts";
import { isAbort, KubeletError, messageOf } from "../../../lib/base/errors.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import type { CgroupFilesystem } from "../../../lib/host/cgroups/cgroup-filesystem.ts";
import type { CgroupMembership } from "../../../lib/host/cgroups/membership.ts";
import type { SystemProcesses } from "../../../lib/host/system-processes.ts";

export interface SystemCgroupsOptions {
  /** kubeletCgroups: where the agent itself runs; empty: it remains where it was started. */
  readonly kubelet: string;
  /** systemCgroups: for processes in the root cgroup; empty: they remain there. */
  readonly system: string;
  readonly cgroups: Pick<CgroupFilesystem, "create">;
  readonly membership: CgroupMembership;
  readonly processes: SystemProcesses;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The process ID of the agent. */
  readonly pid: number;
}

/** Processes start in the root cgroup at any time, so it is emptied periodically. */
const everyMs = 60_000;
/** For processes that are started while others are moved: the root is listed again until it is empty, at most this many times. */
const maxPasses = 11;

/** Moves the agent and the processes outside of containers into the cgroups that the configuration names. */
export class SystemCgroups implements Component {
  readonly name = "system-cgroups";
  readonly done: Promise<void>;
  readonly #o: SystemCgroupsOptions;
  readonly #done = Promise.withResolvers<void>();

  constructor(options: SystemCgroupsOptions) {
    this.#o = options;
    this.done = this.#done.promise;
  }

  /** The agent is moved first: memory is charged to the cgroup that allocated it. */
  async start(signal: AbortSignal): Promise<void> {
    if (pathOf(this.#o.system) === "/")
      throw new KubeletError("InvalidCgroup", 'systemCgroups must not be the root cgroup ("/")');
    await this.#ensure();
    this.#run(signal).then(this.#done.resolve, this.#done.reject);
  }

  async #run(signal: AbortSignal): Promise<void> {
    try {
      for (;;) {
        await sleep(this.#o.clock, everyMs, signal);
        await this.#ensure();
      }
    } catch (error) {
      if (!isAbort(error)) throw error;
    }
  }

  async #ensure(): Promise<void> {
    const { kubelet, system, logger } = this.#o;
    for (const [cgroup, ensure] of [
      [pathOf(kubelet), this.#ensureKubelet],
      [pathOf(system), this.#ensureSystem],
    ] as const) {
      if (cgroup === undefined) continue;
      try {
        await ensure.call(this, cgroup);
      } catch (error) {
        logger.warn("Failed to ensure state of system cgroup", { cgroup, err: messageOf(error) });
      }
    }
  }

  async #ensureKubelet(cgroup: string): Promise<void> {
    const { cgroups, membership, processes, pid, logger } = this.#o;
    if (!(await processes.isInHostPidNamespace(pid))) {
      logger.debug(2, "Kubelet is not in the host's PID namespace and remains in its cgroup", { cgroup });
      return;
    }
    if (cgroup !== "/") await cgroups.create(cgroup, {});
    await membership.attach(cgroup, pid);
  }

  async #ensureSystem(cgroup: string): Promise<void> {
    const { cgroups, membership, logger } = this.#o;
    await cgroups.create(cgroup, {});
    let failure: unknown;
    for (let pass = 0; pass < maxPasses; pass++) {
      const pids = await this.#movable();
      if (pids.length === 0) return;
      logger.debug(3, "Moving non-kernel processes", { cgroup, pids });
      failure = undefined;
      for (const pid of pids)
        await membership.attach(cgroup, pid).catch((error: unknown) => {
          failure = error;
        });
    }
    if (failure !== undefined) throw failure;
  }

  /** Init remains in the root with kernel threads, which must not be throttled. */
  async #movable(): Promise<number[]> {
    const { membership, processes } = this.#o;
    const pids = (await membership.rootProcesses()).filter((pid) => pid !== 1);
    const isKernel = await Promise.all(pids.map((pid) => processes.isKernelThread(pid)));
    return pids.filter((_, index) => !isKernel[index]);
  }
}

/** Names are absolute, with or without a leading slash; undefined if empty. */
export function pathOf(name: string): string | undefined {
  return name === "" ? undefined : posix.join("/", name).replace(/(.)\/$/, "$1");
}
