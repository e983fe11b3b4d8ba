import type { Clock } from "../../base/clock.ts";
import type { Pod, PodStatus, PodUid } from "../../model/pod.ts";
import type { ObservedPod } from "../../state/observed-pods.ts";
import { podStatus } from "./status.ts";

export interface StatusManagerOptions {
  clock: Clock;
  observed: { get(uid: PodUid): ObservedPod | undefined };
  hostIPs: () => readonly string[];
  runtimeName: () => string;
  onChange: (uid: PodUid) => void;
}

interface Entry {
  startTime: number;
  status: PodStatus;
}

/** Keeps the status of each pod. Nobody else makes or changes one. */
export class StatusManager {
  readonly #o: StatusManagerOptions;
  #entries = new Map<PodUid, Entry>();

  constructor(options: StatusManagerOptions) {
    this.#o = options;
  }

  get(uid: PodUid): PodStatus | undefined {
    return this.#entries.get(uid)?.status;
  }

  /** Makes the status anew from what is known now. */
  refresh(pod: Pod, waiting: ReadonlyMap<string, { reason: string; message: string }>): void {
    const { clock, observed, hostIPs, runtimeName } = this.#o;
    const { uid } = pod.metadata;
    const now = clock.now();
    const entry = this.#entries.get(uid);
    const seen = observed.get(uid);
    // After a restart of the agent the pod is as old as its oldest sandbox.
    const startTime = entry?.startTime ?? seen?.sandboxes.at(-1)?.createdAt ?? now;
    const status = podStatus({
      pod,
      seen,
      waiting,
      hostIPs: hostIPs(),
      runtimeName: runtimeName(),
      startTime,
      now,
      before: entry?.status,
    });
    this.#entries.set(uid, { startTime, status });
    if (JSON.stringify(entry?.status) !== JSON.stringify(status)) this.#o.onChange(uid);
  }

  forget(uid: PodUid): void {
    if (this.#entries.delete(uid)) this.#o.onChange(uid);
  }
}
