import { join } from "node:path";
import { KubeletError } from "../../../lib/base/errors.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import type { Container, Pod, PodUid, ResourceRequirements } from "../../../lib/model/pod.ts";
import {
  type AllocationGates,
  actuatedResources,
  actuationOf,
  allocationOf,
  isResizable,
  withAllocation,
} from "./allocated-pod.ts";
import type { PodResourceInfo } from "./checkpoint.ts";
import { greaterRequests, isResized, type ResizeAction, resizeAction } from "./resize-change.ts";
import { ResizingFile } from "./resizing-file.ts";
import { PodResourceFile } from "./state-file.ts";

export interface AllocationOptions {
  readonly rootDir: string;
  readonly gates: AllocationGates;
  readonly logger: Logger;
}

/**
 * The resources that pods were admitted with, or resized to since (allocated), and that were last written to the cgroups of their
 * containers (actuated), across restarts. A pod runs with its allocation, even if its spec has changed.
 */
export class Allocation {
  readonly #o: AllocationOptions;
  readonly #allocated: PodResourceFile;
  readonly #actuated: PodResourceFile;
  readonly #resizing: ResizingFile;
  /** Admission compares each new pod with all others: what they have is computed once, until it changes. */
  readonly #known = new WeakMap<Pod, { allocated: PodResourceInfo; result: Pod }>();
  readonly #accounted = new WeakMap<Pod, { actuated: PodResourceInfo | undefined; result: Pod }>();

  constructor(options: AllocationOptions) {
    const { rootDir, logger } = options;
    this.#o = options;
    this.#allocated = new PodResourceFile(join(rootDir, "allocated_pods_state"), logger);
    this.#actuated = new PodResourceFile(join(rootDir, "actuated_pods_state"), logger);
    this.#resizing = new ResizingFile(join(rootDir, "resizing_pods_state"), logger);
  }

  async start(): Promise<void> {
    await this.#allocated.load();
    await this.#actuated.load();
    await this.#resizing.load(this.#actuated.uids());
  }

  /** The pod with its allocation. */
  allocatedPod(pod: Pod): Pod {
    const allocated = this.#allocated.get(pod.metadata.uid);
    if (!allocated) return pod;
    const known = this.#known.get(pod);
    if (known?.allocated === allocated) return known.result;
    const result = withAllocation(pod, allocated, this.#o.gates) ?? pod;
    this.#known.set(pod, { allocated, result });
    return result;
  }

  /** The spec requests resources that differ from the pod's allocation. False for a pod that was not admitted yet. */
  differs(pod: Pod): boolean {
    return this.allocatedPod(pod) !== pod;
  }

  /** The pod with the requests that count against other pods: while it shrinks, those that its containers still have. */
  accountedPod(pod: Pod): Pod {
    const allocated = this.allocatedPod(pod);
    const actuated = this.#actuated.get(pod.metadata.uid);
    const known = this.#accounted.get(allocated);
    if (known && known.actuated === actuated) return known.result;
    const result = this.#countedPod(allocated, actuated);
    this.#accounted.set(allocated, { actuated, result });
    return result;
  }

  #countedPod(allocated: Pod, actuated: PodResourceInfo | undefined): Pod {
    const { spec } = allocated;
    const isShrinking =
      this.#podDiffers(allocated) ||
      containersOf(allocated).some((c) => this.#containerDiffers(allocated, c));
    if (!actuated || !isShrinking) return allocated;
    const counted = (c: Container): Container => ({
      ...c,
      resources: greaterRequests(c.resources, actuated.containers.get(c.name)),
    });
    return {
      ...allocated,
      spec: {
        ...spec,
        containers: spec.containers.map(counted),
        ...(spec.initContainers && { initContainers: spec.initContainers.map(counted) }),
        ...(spec.resources && { resources: greaterRequests(spec.resources, actuated.pod) }),
      },
    };
  }

  /** The pod, with the allocation of `allocatedPod`, was admitted. */
  admitted(pod: Pod): void {
    const { uid } = pod.metadata;
    // A resize may have been allocated while the pod was being admitted.
    if (!this.#allocated.get(uid)) this.#allocated.set(uid, allocationOf(pod, this.#o.gates));
    if (!this.#actuated.get(uid)) this.#actuated.set(uid, actuationOf(pod, this.#o.gates));
  }

  /** The resources of the pod's spec are its allocation from now on. */
  allocate(pod: Pod): void {
    this.#allocated.set(pod.metadata.uid, allocationOf(pod, this.#o.gates));
  }

  /** The resources that a container was last given. */
  actuated(uid: PodUid, container: string): ResourceRequirements | undefined {
    return this.#actuated.get(uid)?.containers.get(container);
  }

  /** The change that a container needs, if it runs, to have the resources of the pod. */
  actionFor(pod: Pod, container: Container, isInit: boolean): ResizeAction {
    if (!isResizable(container, isInit, this.#o.gates)) return "none";
    const action = resizeAction(container, this.#given(pod, container), this.#actuatedOf(pod, container));
    // It would not run to its end.
    return isInit && container.restartPolicy !== "Always" && action === "restart" ? "update" : action;
  }

  /** The pod's cgroup needs a resize, apart from its containers: its pod-level resources changed, or a resize was interrupted or failed. */
  needsPodResize(pod: Pod): boolean {
    return this.isResizing(pod.metadata.uid) || this.#podDiffers(pod);
  }

  /** A resize was started and has not succeeded. */
  isResizing(uid: PodUid): boolean {
    return this.#resizing.has(uid);
  }

  /** Resolves when it is on disk that the pod is being resized, and to what. */
  async resizeStarts({ metadata: { uid } }: Pod): Promise<void> {
    await this.#allocated.flushed();
    await this.#resizing.add(uid);
  }

  /** All cgroups of the pod have its resources; the containers are those that were resized. */
  async resized(pod: Pod, containers: readonly Container[]): Promise<void> {
    const { uid } = pod.metadata;
    const before = this.#actuated.get(uid);
    const given = containers.map((c): [string, ResourceRequirements] => [c.name, this.#given(pod, c)]);
    this.#actuated.set(uid, {
      containers: new Map([...(before?.containers ?? []), ...given]),
      ...(pod.spec.resources ? { pod: pod.spec.resources } : {}),
    });
    // The resize is not done: the record on disk is outdated. The next attempt, after a back-off, writes both again.
    if (!(await this.#actuated.flushed()))
      throw new KubeletError("ResizeNotRecorded", "failed to record the resized resources of the pod");
    this.#resizing.remove(uid);
  }

  /**
   * Records that the container has the pod's resources. Resolves when the record is on disk. Before it starts: an agent that is killed after that
   * would resize, or restart, it again.
   */
  async containerStarts(pod: Pod, container: Container): Promise<void> {
    if (!this.#containerDiffers(pod, container)) return;
    this.containerStarted(pod, container);
    await this.#actuated.flushed();
  }

  containerStarted(pod: Pod, container: Container): void {
    const { uid } = pod.metadata;
    const before = this.#actuated.get(uid);
    this.#actuated.set(uid, {
      ...before,
      containers: new Map([...(before?.containers ?? []), [container.name, this.#given(pod, container)]]),
    });
  }

  forget(uid: PodUid): void {
    this.#allocated.remove(uid);
    this.#actuated.remove(uid);
    this.#resizing.remove(uid);
  }

  keepOnly(isKnown: (uid: PodUid) => boolean): void {
    this.#allocated.keepOnly(isKnown);
    this.#actuated.keepOnly(isKnown);
    this.#resizing.keepOnly(isKnown);
  }

  async flushed(): Promise<void> {
    await Promise.all([this.#allocated.flushed(), this.#actuated.flushed(), this.#resizing.flushed()]);
  }

  /** The resources that the container is started with, or resized to. */
  #given(pod: Pod, container: Container): ResourceRequirements {
    return actuatedResources(container, this.#o.gates.podLevel ? pod.spec.resources : undefined);
  }

  #actuatedOf({ metadata }: Pod, { name }: Container): ResourceRequirements | undefined {
    return this.actuated(metadata.uid, name);
  }

  #containerDiffers(pod: Pod, container: Container): boolean {
    return isResized(this.#given(pod, container), this.#actuatedOf(pod, container));
  }

  #podDiffers({ metadata, spec }: Pod): boolean {
    const actuated = this.#actuated.get(metadata.uid);
    return this.#o.gates.podLevel && actuated !== undefined && isResized(spec.resources, actuated.pod);
  }
}

function containersOf({ spec }: Pod): Container[] {
  return [...(spec.initContainers ?? []), ...spec.containers];
}
