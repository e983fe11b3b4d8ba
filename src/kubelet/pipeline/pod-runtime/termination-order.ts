import type { ContainerId } from "../../../lib/clients/cri/cri.ts";
import type { Pod } from "../../../lib/model/pod.ts";
import { isSidecar } from "../../../lib/model/restart-policy.ts";

interface Running {
  id: ContainerId;
  name: string;
}

/** The containers that must have exited before this one is stopped: for a sidecar the regular ones and later sidecars. */
export function terminatedBefore<C extends Running>(
  pod: Pod | undefined,
  name: string,
  running: readonly C[],
): C[] {
  const sidecars = (pod?.spec.initContainers ?? []).filter(isSidecar).map((c) => c.name);
  const index = sidecars.indexOf(name);
  if (index < 0) return [];
  const first = new Set([...(pod?.spec.containers ?? []).map((c) => c.name), ...sidecars.slice(index + 1)]);
  return running.filter((c) => first.has(c.name));
}

/** The order in which the containers of a pod are stopped, as upstream's terminationOrdering. */
export class TerminationOrder {
  readonly #pod: Pod | undefined;
  readonly #running: readonly Running[];
  readonly #exited = new Map<ContainerId, PromiseWithResolvers<void>>();

  constructor(pod: Pod | undefined, running: readonly Running[]) {
    this.#pod = pod;
    this.#running = running;
    for (const { id } of running) this.#exited.set(id, Promise.withResolvers());
  }

  /** Resolves when the containers before it have exited; undefined if there are none. */
  waitForPredecessors(name: string): Promise<unknown> | undefined {
    const first = terminatedBefore(this.#pod, name, this.#running);
    return first.length > 0 ? Promise.all(first.map((c) => this.#exited.get(c.id)?.promise)) : undefined;
  }

  exited(id: ContainerId): void {
    this.#exited.get(id)?.resolve();
  }
}
