import { Listeners } from "../../lib/base/listeners.ts";
import type { ContainerId } from "../../lib/clients/cri/cri.ts";
import type { PodUid } from "../../lib/model/pod.ts";

export type ProbeKind = "startup" | "liveness" | "readiness";

/** The result of the last probes of a container. Unknown: no threshold was reached yet. */
export type ProbeOutcome = "success" | "failure" | "unknown";

export interface ProbeResultChange {
  uid: PodUid;
  id: ContainerId;
  kind: ProbeKind;
  outcome: ProbeOutcome;
}

/** The results of all probes by container ID: a new container of the same name starts without any. Written by the probe manager. */
export class ProbeResults {
  #outcomes = new Map<string, ProbeOutcome>();
  readonly #listeners = new Listeners<[ProbeResultChange]>();

  /** Undefined if that container has no such probe. */
  get(kind: ProbeKind, id: ContainerId): ProbeOutcome | undefined {
    return this.#outcomes.get(key(kind, id));
  }

  /** Notifies the listeners if it changed. */
  set(change: ProbeResultChange): void {
    const { kind, id, outcome } = change;
    if (this.#outcomes.get(key(kind, id)) === outcome) return;
    this.#outcomes.set(key(kind, id), outcome);
    this.#listeners.notify(change);
  }

  delete(kind: ProbeKind, id: ContainerId): void {
    this.#outcomes.delete(key(kind, id));
  }

  *all(): Generator<Omit<ProbeResultChange, "uid">> {
    for (const [name, outcome] of this.#outcomes) {
      const [kind, id] = name.split("/") as [ProbeKind, ContainerId];
      yield { kind, id, outcome };
    }
  }

  get size(): number {
    return this.#outcomes.size;
  }

  onChange(listener: (change: ProbeResultChange) => void): () => void {
    return this.#listeners.add(listener);
  }
}

function key(kind: ProbeKind, id: ContainerId): string {
  return `${kind}/${id}`;
}
