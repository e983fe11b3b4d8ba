import { KubeletError, messageOf } from "../../../lib/base/errors.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import type { CgroupDriver, CgroupResources } from "../../../lib/host/cgroups/driver.ts";
import { type Pod, type PodUid, podRef } from "../../../lib/model/pod.ts";
import { podQos, type QosClass } from "../../../lib/model/qos.ts";
import { type LimitSettings, podCgroupLimits, tierLimits } from "./limits.ts";
import {
  type CgroupName,
  type CgroupNaming,
  parseRoot,
  podName,
  qosName,
  toPath,
  uidOfDir,
} from "./names.ts";

/** The cgroups of pods: one for each, in the tier of its QoS class. */
export interface PodCgroups {
  /** Creates the cgroups above the pods. */
  start(): Promise<void>;
  /** The cgroup parent that is passed to the runtime. */
  parentFor(pod: Pod): string;
  /** Creates the pod's cgroup with its limits, if it does not exist. */
  ensure(pod: Pod): Promise<void>;
  exists(pod: Pod): Promise<boolean>;
  /** Kills remaining processes in the pod's cgroup, in any tier, and removes it. */
  remove(uid: PodUid, signal?: AbortSignal): Promise<void>;
  /** Pods that have a cgroup, desired or not. */
  list(): Promise<PodUid[]>;
  /** Sets the CPU shares of the tiers, for the current pods. */
  updateQos(pods: readonly Pod[]): Promise<void>;
}

export interface PodCgroupsOptions {
  readonly driver: CgroupDriver;
  readonly naming: CgroupNaming;
  readonly cgroupsPerQos: boolean;
  /** "" or "/" for the root. It must exist. */
  readonly cgroupRoot: string;
  readonly limits: LimitSettings;
  /** For the cgroup above all pods: see rootLimits. */
  readonly root?: CgroupResources;
  readonly logger: Logger;
}

const classes: readonly QosClass[] = ["Guaranteed", "Burstable", "BestEffort"];

export function createPodCgroups(options: PodCgroupsOptions): PodCgroups {
  return options.cgroupsPerQos ? new QosPodCgroups(options) : new NoPodCgroups(options.cgroupRoot);
}

class QosPodCgroups implements PodCgroups {
  readonly #o: PodCgroupsOptions;
  readonly #driver: CgroupDriver;
  readonly #base: CgroupName;
  /** "kubepods": the cgroup of all pods, and the tier of those that are Guaranteed. */
  readonly #root: CgroupName;

  constructor(options: PodCgroupsOptions) {
    this.#o = options;
    this.#driver = options.driver;
    this.#base = parseRoot(options.cgroupRoot);
    this.#root = [...this.#base, "kubepods"];
  }

  async start(): Promise<void> {
    if (this.#o.naming === "systemd") {
      throw new KubeletError(
        "NotSupported",
        'cgroupDriver: "systemd" is not supported yet, because slices have to be made by systemd; ' +
          'set cgroupDriver to "cgroupfs" here and in the container runtime',
      );
    }
    if (this.#base.length > 0) await this.#check(this.#base, `cgroupRoot: "${this.#o.cgroupRoot}"`);
    const { root, burstable, bestEffort } = tierLimits([], this.#o.limits);
    await this.#driver.create(this.#path(this.#root), {});
    await this.#check(this.#root, `cgroup "${this.#path(this.#root)}"`);
    await this.#driver.update(this.#path(this.#root), { ...this.#o.root, ...root });
    // The requests of existing Burstable pods are not known at startup: the tier keeps its shares until then.
    const { cpuShares: _, ...keepShares } = burstable;
    await this.#driver.create(this.#path(qosName(this.#root, "Burstable")), keepShares);
    await this.#driver.create(this.#path(qosName(this.#root, "BestEffort")), bestEffort);
  }

  /**
   * A cgroup without its controllers would accept no limits, and seem absent at every check. On v2 that happens easily:
   * systemd does not delegate hugetlb, and memory cannot be delegated from a cgroup with processes, as in
   * many containers.
   */
  async #check(name: CgroupName, title: string): Promise<void> {
    const lacks = await this.#driver.lacks(this.#path(name));
    if (lacks?.length === 0) return;
    const why =
      this.#driver.version === 2
        ? " (the cgroup above has to name them in cgroup.subtree_control; unless it is the root, it can only while no process is in it)"
        : "";
    throw new KubeletError(
      "InvalidCgroup",
      lacks ? `${title} has some missing controllers: ${lacks.join(", ")}${why}` : `${title} doesn't exist`,
    );
  }

  parentFor(pod: Pod): string {
    return this.#path(podName(this.#root, this.#qos(pod), pod.metadata.uid));
  }

  exists(pod: Pod): Promise<boolean> {
    return this.#driver.exists(this.parentFor(pod));
  }

  async ensure(pod: Pod): Promise<void> {
    const path = this.parentFor(pod);
    if (await this.#driver.exists(path)) return;
    await this.#driver.create(path, {});
    try {
      await this.#driver.update(path, podCgroupLimits(pod, this.#o.limits));
    } catch (error) {
      // A pod without one of its limits still runs: its containers have their own limits.
      this.#o.logger.error("Failed to set limit of pod cgroup", {
        pod: podRef(pod),
        podUID: pod.metadata.uid,
        cgroup: path,
        err: messageOf(error),
      });
    }
  }

  async remove(uid: PodUid, signal?: AbortSignal): Promise<void> {
    await Promise.all(
      classes.map((qos) => this.#driver.remove(this.#path(podName(this.#root, qos, uid)), { signal })),
    );
  }

  async list(): Promise<PodUid[]> {
    const found = new Set<PodUid>();
    for (const qos of classes) {
      for (const dir of await this.#driver.children(this.#path(qosName(this.#root, qos)))) {
        const uid = uidOfDir(dir, this.#o.naming);
        if (uid !== undefined) found.add(uid);
      }
    }
    return [...found];
  }

  async updateQos(pods: readonly Pod[]): Promise<void> {
    const { root, burstable, bestEffort } = tierLimits(pods, this.#o.limits);
    await this.#driver.update(this.#path(this.#root), root);
    await this.#driver.update(this.#path(qosName(this.#root, "Burstable")), burstable);
    await this.#driver.update(this.#path(qosName(this.#root, "BestEffort")), bestEffort);
  }

  #qos(pod: Pod): QosClass {
    return podQos(pod, { podLevel: this.#o.limits.podLevelResources });
  }

  #path(name: CgroupName): string {
    return toPath(name, this.#o.naming);
  }
}

/** With cgroupsPerQOS off: containers are below cgroupRoot, or where the runtime decides, and nothing is created here. */
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
  async exists(): Promise<boolean> {
    return true;
  }
  async remove(): Promise<void> {}
  async list(): Promise<PodUid[]> {
    return [];
  }
  async updateQos(): Promise<void> {}
}
