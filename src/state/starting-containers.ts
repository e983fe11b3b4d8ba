import type { ContainerId } from "../clients/cri/cri.ts";
import type { ObservedPod } from "./observed-pods.ts";

/**
 * Containers that run for the runtime but have not started for users: their postStart hook is not done. Who starts
 * containers writes it; an agent that restarts in between does not know any more, and takes them for started.
 */
export class StartingContainers {
  #ids = new Set<ContainerId>();

  add(id: ContainerId): void {
    this.#ids.add(id);
  }

  delete(id: ContainerId): void {
    this.#ids.delete(id);
  }

  get size(): number {
    return this.#ids.size;
  }

  /** The pod as users should see it: what is still starting is created, not running. */
  seenFromOutside(pod: ObservedPod | undefined): ObservedPod | undefined {
    if (!pod?.containers.some((c) => this.#isStarting(c))) return pod;
    return {
      ...pod,
      containers: pod.containers.map((c) => (this.#isStarting(c) ? { ...c, state: "created" } : c)),
    };
  }

  #isStarting(container: { id: ContainerId; state: string }): boolean {
    return container.state === "running" && this.#ids.has(container.id);
  }
}
