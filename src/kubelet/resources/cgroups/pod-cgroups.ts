import { isDeepStrictEqual } from "node:util";
import { messageOf } from "../../../lib/base/errors.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import type { CgroupResources } from "../../../lib/host/cgroups/cgroup-filesystem.ts";
import { containerIdIn } from "../../../lib/model/oom-kill.ts";
import { type Pod, type PodUid, podRef } from "../../../lib/model/pod.ts";
import { podQos, type QosClass } from "../../../lib/model/qos.ts";
import { minCpuShares } from "../../../lib/model/resources.ts";
import type { CgroupManager } from "./cgroup-manager.ts";
import { checkCgroup } from "./check-cgroup.ts";
import { type LimitSettings, podCgroupLimits, qosCgroupLimits } from "./limits.ts";
import { type CgroupName, parseRoot, podName, podsCgroupName, qosName, uidOf } from "./names.ts";

/** The cgroups of pods: one for each, in the cgroup of its QoS class. */
export interface PodCgroups {
  /** Creates the parent cgroups of the pods. */
  start(): Promise<void>;
  /** The cgroup parent that is passed to the runtime. */
  parentFor(pod: Pod): string;
  /**
   * Creates the pod's cgroup with its limits, if it does not exist. A cgroup that a previous agent created is completed: that agent may have
   * been killed before it had set all limits.
   */
  ensure(pod: Pod): Promise<void>;
  exists(pod: Pod): Promise<boolean>;
  /** Kills remaining processes in the pod's cgroup, in any QoS cgroup, and removes it. */
  remove(uid: PodUid, signal?: AbortSignal): Promise<void>;
  /** Limits whatever is still running in the pod's cgroup to the minimum CPU. */
  reduceCpu(uid: PodUid): Promise<void>;
  /** The limits of the pod's cgroup; undefined if pods have none. */
  limitsFor(pod: Pod): CgroupResources | undefined;
  /** Sets some limits of the pod's cgroup, which exists. */
  update(pod: Pod, resources: CgroupResources): Promise<void>;
  /**
   * Kills and removes the cgroups of containers in the pod's cgroup, except those of the known sandboxes and containers. Resolves to what
   * it has removed.
   */
  removeUnknown(pod: Pod, knownIds: ReadonlySet<string>): Promise<string[]>;
  /** Pods that have a cgroup, desired or not. */
  list(): Promise<PodUid[]>;
  /**
   * Sets the limits of the QoS cgroups, for the current pods. With `ifChanged`, limits that are the same as in the last call are not written
   * again.
   */
  updateQos(pods: readonly Pod[], options?: { readonly ifChanged: boolean }): Promise<void>;
}

export interface PodCgroupsOptions {
  readonly manager: CgroupManager;
  readonly cgroupsPerQos: boolean;
  /** "" or "/" for the root. It must exist. */
  readonly cgroupRoot: string;
  readonly limits: LimitSettings;
  /** Bytes used by a cgroup; undefined if there is no such cgroup. Needed with qosReserved. */
  readonly memoryUsage?: (cgroup: string) => Promise<bigint | undefined>;
  readonly logger: Logger;
}

const classes: readonly QosClass[] = ["Guaranteed", "Burstable", "BestEffort"];

export function createPodCgroups(options: PodCgroupsOptions): PodCgroups {
  return options.cgroupsPerQos ? new QosPodCgroups(options) : new NoPodCgroups(options.cgroupRoot);
}

class QosPodCgroups implements PodCgroups {
  readonly #o: PodCgroupsOptions;
  readonly #manager: CgroupManager;
  readonly #base: CgroupName;
  readonly #root: CgroupName;
  /** Pods whose cgroup was created, or completed, by this agent. */
  readonly #complete = new Set<PodUid>();
  /** The limits of each QoS cgroup that were last written. */
  readonly #written = new Map<QosClass, CgroupResources>();

  constructor(options: PodCgroupsOptions) {
    this.#o = options;
    this.#manager = options.manager;
    this.#base = parseRoot(options.cgroupRoot);
    this.#root = podsCgroupName(options.cgroupRoot);
  }

  async start(): Promise<void> {
    if (this.#base.length > 0)
      await checkCgroup(this.#manager, this.#base, `cgroupRoot: "${this.#o.cgroupRoot}"`);
    const { root, burstable, bestEffort } = qosCgroupLimits([], this.#o.limits);
    await this.#manager.create(this.#root, {});
    await checkCgroup(this.#manager, this.#root, `cgroup "${this.#manager.pathOf(this.#root)}"`);
    await this.#manager.update(this.#root, root);
    // The requests of existing Burstable pods are not known at startup: the cgroup keeps its shares until then.
    const { cpuShares: _, ...keepShares } = burstable;
    await this.#manager.create(qosName(this.#root, "Burstable"), keepShares);
    await this.#manager.create(qosName(this.#root, "BestEffort"), bestEffort);
  }

  parentFor(pod: Pod): string {
    return this.#manager.pathOf(this.#name(pod));
  }

  exists(pod: Pod): Promise<boolean> {
    return this.#manager.exists(this.#name(pod));
  }

  async ensure(pod: Pod): Promise<void> {
    const name = this.#name(pod);
    const { uid } = pod.metadata;
    if (this.#complete.has(uid) && (await this.#manager.exists(name))) return;
    await this.#manager.create(name, {});
    try {
      await this.#manager.update(name, podCgroupLimits(pod, this.#o.limits));
    } catch (error) {
      // A pod without one of its limits still runs: its containers have their own limits.
      this.#o.logger.error("Failed to set limit of pod cgroup", {
        pod: podRef(pod),
        podUID: uid,
        cgroup: this.parentFor(pod),
        err: messageOf(error),
      });
    }
    this.#complete.add(uid);
  }

  limitsFor(pod: Pod): CgroupResources {
    return podCgroupLimits(pod, this.#o.limits);
  }

  update(pod: Pod, resources: CgroupResources): Promise<void> {
    return this.#manager.update(this.#name(pod), resources);
  }

  async removeUnknown(pod: Pod, knownIds: ReadonlySet<string>): Promise<string[]> {
    const name = this.#name(pod);
    const unknown = (await this.#manager.entries(name)).filter((entry) => {
      const id = containerIdIn(entry);
      return id !== undefined && !knownIds.has(id);
    });
    for (const entry of unknown) await this.#manager.removeEntry(name, entry);
    return unknown;
  }

  async reduceCpu(uid: PodUid): Promise<void> {
    for (const qos of classes) {
      const name = podName(this.#root, qos, uid);
      if (await this.#manager.exists(name)) await this.#manager.update(name, { cpuShares: minCpuShares });
    }
  }

  async remove(uid: PodUid, signal?: AbortSignal): Promise<void> {
    this.#complete.delete(uid);
    await Promise.all(classes.map((qos) => this.#manager.remove(podName(this.#root, qos, uid), { signal })));
  }

  async list(): Promise<PodUid[]> {
    const found = new Set<PodUid>();
    for (const qos of classes) {
      for (const child of await this.#manager.children(qosName(this.#root, qos))) {
        const uid = uidOf(child);
        if (uid !== undefined) found.add(uid);
      }
    }
    return [...found];
  }

  async updateQos(pods: readonly Pod[], options = { ifChanged: false }): Promise<void> {
    const { root, burstable, bestEffort } = qosCgroupLimits(pods, this.#o.limits);
    const limits = { Guaranteed: root, Burstable: burstable, BestEffort: bestEffort };
    for (const qos of classes) {
      if (options.ifChanged && isDeepStrictEqual(this.#written.get(qos), limits[qos])) continue;
      this.#written.delete(qos);
      await this.#updateQosCgroup(qosName(this.#root, qos), limits[qos]);
      this.#written.set(qos, limits[qos]);
    }
  }

  /** A cgroup that already uses more than its new limit keeps what it uses, but cannot grow. */
  async #updateQosCgroup(name: CgroupName, limits: CgroupResources): Promise<void> {
    const { memory } = limits;
    try {
      if (memory !== undefined && memory < 0n) throw new RangeError(`memory limit of ${memory} bytes`);
      await this.#manager.update(name, limits);
    } catch (error) {
      const usage = await this.#o.memoryUsage?.(this.#manager.pathOf(name));
      if (memory === undefined || usage === undefined || usage <= memory) throw error;
      await this.#manager.update(name, { ...limits, memory: usage });
    }
  }

  #qos(pod: Pod): QosClass {
    return podQos(pod, { podLevel: this.#o.limits.podLevelResources });
  }

  #name(pod: Pod): CgroupName {
    return podName(this.#root, this.#qos(pod), pod.metadata.uid);
  }
}

/** The cgroups with cgroupsPerQOS off: containers are below cgroupRoot, or where the runtime decides, and nothing is created here. */
class NoPodCgroups implements PodCgroups {
  readonly #parent: string;
  constructor(cgroupRoot: string) {
    this.#parent = cgroupRoot;
  }
  async start(): Promise<void> {}
  parentFor(): string {
    return this.#parent;
  }
  async ensure(): Promise<void> {}
  limitsFor(): undefined {}
  async update(): Promise<void> {}
  async removeUnknown(): Promise<string[]> {
    return [];
  }
  async exists(): Promise<boolean> {
    return true;
  }
  async reduceCpu(): Promise<void> {}
  async remove(): Promise<void> {}
  async list(): Promise<PodUid[]> {
    return [];
  }
  async updateQos(): Promise<void> {}
}
