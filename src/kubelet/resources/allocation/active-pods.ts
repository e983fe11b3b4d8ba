import type { Pod } from "../../../lib/model/pod.ts";
import type { DesiredPods } from "../../state/desired-pods.ts";
import type { WorkerStates } from "../../state/worker-states.ts";
import type { Allocation } from "./allocation.ts";

export interface ActivePodsOptions {
  readonly desired: Pick<DesiredPods, "all">;
  readonly workers: Pick<WorkerStates, "isActive">;
  readonly allocation: Pick<Allocation, "allocatedPod" | "accountedPod">;
}

/** The desired pods that use resources of the node. */
export class ActivePods {
  readonly #o: ActivePodsOptions;

  constructor(options: ActivePodsOptions) {
    this.#o = options;
  }

  /** The active pods with their allocated resources. */
  all(): Pod[] {
    const { desired, workers, allocation } = this.#o;
    return desired
      .all()
      .map((pod) => allocation.allocatedPod(pod))
      .filter(({ metadata }) => workers.isActive(metadata.uid));
  }

  /** The active pods with the resources that admission counts. */
  accounted(): Pod[] {
    return this.all().map((pod) => this.#o.allocation.accountedPod(pod));
  }
}
