import type { ContainerId } from "../../lib/clients/cri/cri.ts";
import type { PodUid } from "../../lib/model/pod.ts";

/**
 * Containers that are stopped to be replaced: for a failed probe, a changed spec, a new sandbox. Their
 * exit code does not show whether they succeeded. The component that stops containers writes it; without it a container
 * that exits with 0 when it is stopped would look completed. It is kept in memory: a new agent uses the exit
 * code.
 */
export class ReplacedContainers {
  /** The last one of each name: only the newest container of a name is evaluated. */
  #pods = new Map<PodUid, Map<string, ContainerId>>();

  mark(uid: PodUid, { name, id }: { name: string; id: ContainerId }): void {
    const pod = this.#pods.get(uid);
    if (pod) pod.set(name, id);
    else this.#pods.set(uid, new Map([[name, id]]));
  }

  has(uid: PodUid, { name, id }: { name: string; id: ContainerId }): boolean {
    return this.#pods.get(uid)?.get(name) === id;
  }

  forget(uid: PodUid): void {
    this.#pods.delete(uid);
  }

  /** How many pods have marks. */
  get size(): number {
    return this.#pods.size;
  }
}
