import { join } from "node:path";
import type { Clock } from "../../../lib/base/clock.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import type { WallTime } from "../../../lib/base/time.ts";
import type { Container, Pod, PodUid, ResourceRequirements } from "../../../lib/model/pod.ts";
import type { PodEvents } from "../../../lib/model/pod-events.ts";
import {
  type AllocationGates,
  actuatedResources,
  actuationOf,
  allocationOf,
  resizeEvent,
  withAllocation,
} from "./allocated-pod.ts";
import { PodResourceFile } from "./state-file.ts";

/** A pending resize. */
export interface PendingResize {
  readonly reason: "Infeasible" | "Deferred";
  readonly message: string;
  /** The generation of the pod that requests it. */
  readonly generation: number;
  /** When it was first seen, in milliseconds. */
  readonly at: WallTime;
}

export interface AllocationOptions {
  readonly rootDir: string;
  readonly gates: AllocationGates;
  readonly events: Pick<PodEvents, "warning">;
  readonly clock: Clock;
  readonly logger: Logger;
}

const notSupported =
  "In-place resize is not supported by this kubelet: containers keep the resources that the pod was admitted with";

/**
 * The resources that pods were admitted with (allocated) and that their containers were started with (actuated), across restarts. A
 * pod runs with its allocation, even if its spec has changed.
 */
export class Allocation {
  readonly #o: AllocationOptions;
  readonly #allocated: PodResourceFile;
  readonly #actuated: PodResourceFile;
  #pending = new Map<PodUid, PendingResize>();

  constructor(options: AllocationOptions) {
    this.#o = options;
    this.#allocated = new PodResourceFile(join(options.rootDir, "allocated_pods_state"), options.logger);
    this.#actuated = new PodResourceFile(join(options.rootDir, "actuated_pods_state"), options.logger);
  }

  async start(): Promise<void> {
    await this.#allocated.load();
    await this.#actuated.load();
  }

  /** The pod with its allocation. */
  allocatedPod(pod: Pod): Pod {
    const info = this.#allocated.get(pod.metadata.uid);
    return (info && withAllocation(pod, info, this.#o.gates)) ?? pod;
  }

  /** The same for the current pod of its source. If it requests other resources, a pending resize is recorded, with one event. */
  updated(pod: Pod): Pod {
    const { uid, generation = 0 } = pod.metadata;
    const given = this.allocatedPod(pod);
    if (given === pod) {
      this.#pending.delete(uid);
      return pod;
    }
    if (this.#pending.get(uid)?.generation === generation) return given;
    const at = this.#o.clock.wall();
    this.#pending.set(uid, { reason: "Infeasible", message: notSupported, generation, at });
    if (!isReported(pod))
      this.#o.events.warning(pod, "ResizeInfeasible", resizeEvent(pod, "Infeasible", notSupported));
    return given;
  }

  pending(uid: PodUid): PendingResize | undefined {
    return this.#pending.get(uid);
  }

  /** The resources that a container was started with. */
  actuated(uid: PodUid, container: string): ResourceRequirements | undefined {
    return this.#actuated.get(uid)?.containers.get(container);
  }

  /** The pod, with the allocation of `updated`, was admitted. */
  admitted(pod: Pod): void {
    const { uid } = pod.metadata;
    this.#allocated.set(uid, allocationOf(pod, this.#o.gates));
    if (!this.#actuated.get(uid)) this.#actuated.set(uid, actuationOf(pod, this.#o.gates));
  }

  containerStarted(pod: Pod, container: Container): void {
    const { uid } = pod.metadata;
    const before = this.#actuated.get(uid);
    const given = actuatedResources(container, this.#o.gates.podLevel ? pod.spec.resources : undefined);
    this.#actuated.set(uid, {
      ...before,
      containers: new Map([...(before?.containers ?? []), [container.name, given]]),
    });
  }

  forget(uid: PodUid): void {
    this.#pending.delete(uid);
    this.#allocated.remove(uid);
    this.#actuated.remove(uid);
  }

  keepOnly(isKnown: (uid: PodUid) => boolean): void {
    this.#allocated.keepOnly(isKnown);
    this.#actuated.keepOnly(isKnown);
  }

  async flushed(): Promise<void> {
    await Promise.all([this.#allocated.flushed(), this.#actuated.flushed()]);
  }
}

/** A previous agent has already reported it. */
function isReported({ metadata, status }: Pod): boolean {
  const found = status?.conditions?.find(({ type }) => type === "PodResizePending");
  return found?.reason === "Infeasible" && (found.observedGeneration ?? 0) === (metadata.generation ?? 0);
}
