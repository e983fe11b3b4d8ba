import type { WallTime } from "../../lib/base/time.ts";
import type { PodStatus, PodUid } from "../../lib/model/pod.ts";

export interface StatusEntry {
  readonly status: PodStatus;
  readonly startTime: WallTime;
  readonly activeSince: WallTime;
  readonly hasMirrorTimes: boolean;
}

/** The status of each pod. Only `StatusManager` writes. */
export class PodStatuses {
  readonly #entries = new Map<PodUid, StatusEntry>();

  get(uid: PodUid): PodStatus | undefined {
    return this.#entries.get(uid)?.status;
  }

  entry(uid: PodUid): StatusEntry | undefined {
    return this.#entries.get(uid);
  }

  /** When the pod became active on this node: its deadline starts then. */
  activeSince(uid: PodUid): WallTime | undefined {
    return this.#entries.get(uid)?.activeSince;
  }

  /** True once the status of a static pod has the times that its mirror had. */
  hasMirrorTimes(uid: PodUid): boolean {
    return this.#entries.get(uid)?.hasMirrorTimes ?? false;
  }

  set(uid: PodUid, entry: StatusEntry): void {
    this.#entries.set(uid, entry);
  }

  /** False if there was no status. */
  delete(uid: PodUid): boolean {
    return this.#entries.delete(uid);
  }
}
