import { type Clock, sleep } from "../../../lib/base/clock.ts";
import type { Component } from "../../../lib/base/component.ts";
import { isAbort, KubeletError, messageOf } from "../../../lib/base/errors.ts";
import type { NodeEvents } from "../../../lib/model/pod-events.ts";
import type { CgroupManager } from "./cgroup-manager.ts";
import { checkCgroup } from "./check-cgroup.ts";
import { type Enforcement, podsEnforcement, type ReservedCgroup, reservedCgroups } from "./enforcement.ts";
import { type CgroupName, quotedName } from "./names.ts";

export interface NodeAllocatableOptions {
  readonly manager: CgroupManager;
  /** "kubepods"; undefined if there is no cgroup of all pods (cgroupsPerQOS off). */
  readonly podsCgroup: CgroupName | undefined;
  readonly enforcement: Enforcement;
  readonly events: NodeEvents;
  readonly clock: Clock;
}

const retryMs = 60_000;
const enforced = "NodeAllocatableEnforced";
const failed = "FailedNodeAllocatableEnforcement";

/**
 * Limits all pods together, and the daemons of the system and of Kubernetes in their cgroups, as enforceNodeAllocatable
 * specifies. The agent does not start if a cgroup that the reservations name does not exist.
 */
export class NodeAllocatable implements Component {
  readonly name = "node-allocatable";
  readonly #o: NodeAllocatableOptions;
  #loop: Promise<void> = Promise.resolve();

  constructor(options: NodeAllocatableOptions) {
    this.#o = options;
  }

  get done(): Promise<void> {
    return this.#loop;
  }

  async start(signal: AbortSignal): Promise<void> {
    // The first attempt precedes the first pod.
    if (!(await this.#limitPods())) this.#loop = this.#retry(signal);
    for (const reserved of reservedCgroups(this.#o.enforcement)) await this.#limitReserved(reserved);
  }

  /**
   * The pods may already use more memory than the limit, if they were started with a higher one: it takes effect as soon as
   * pods were evicted.
   */
  async #retry(signal: AbortSignal): Promise<void> {
    try {
      do await sleep(this.#o.clock, retryMs, signal);
      while (!(await this.#limitPods()));
    } catch (error) {
      if (!isAbort(error)) throw error;
    }
  }

  async #limitPods(): Promise<boolean> {
    const { manager, podsCgroup, enforcement, events } = this.#o;
    if (!podsCgroup) return true;
    try {
      await manager.update(podsCgroup, podsEnforcement(enforcement));
      events.normal(enforced, "Updated Node Allocatable limit across pods");
      return true;
    } catch (error) {
      const name = quotedName(podsCgroup);
      events.warning(failed, `Failed to update Node Allocatable Limits ${name}: ${messageOf(error)}`);
      return false;
    }
  }

  async #limitReserved({ cgroup, resources, title, of }: ReservedCgroup): Promise<void> {
    const { manager, events } = this.#o;
    try {
      const name = manager.nameOf(cgroup);
      await checkCgroup(manager, name, `cgroup ${quotedName(name)}`);
      await manager.update(name, resources);
    } catch (error) {
      const message = `Failed to enforce ${title} Cgroup Limits on ${JSON.stringify(cgroup)}: ${messageOf(error)}`;
      events.warning(failed, message);
      throw new KubeletError("InvalidCgroup", message, { cause: error });
    }
    events.normal(enforced, `Updated limits on ${of} cgroup ${cgroup}`);
  }
}
