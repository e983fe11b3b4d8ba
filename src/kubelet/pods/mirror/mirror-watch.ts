import { fullNameOf, isStatic, type Pod, type PodUid } from "../../../lib/model/pod.ts";
import type { ApiPods } from "../../state/api-pods.ts";
import { type DesiredPods, isMirror, isSamePod } from "../../state/desired-pods.ts";
import type { MirrorPods } from "./mirror-pods.ts";

export interface MirrorWatchOptions {
  readonly mirrors: Pick<MirrorPods, "wake" | "podTerminated">;
  readonly desired: Pick<DesiredPods, "get" | "podOfMirror">;
  readonly apiPods: Pick<ApiPods, "restarted" | "forget">;
  /** The mirror of this static pod has changed; `isFirst`: it was observed for the first time. */
  readonly onMirror: (uid: PodUid, isFirst: boolean) => void;
}

/** Follows the mirrors of static pods: which of them were observed, and which are from a previous run of their pod. */
export class MirrorWatch {
  readonly #o: MirrorWatchOptions;
  /** Static pods whose mirror was observed: from then on this agent writes its status. */
  readonly #mirrored = new Set<PodUid>();

  constructor(options: MirrorWatchOptions) {
    this.#o = options;
  }

  apiPodChanged(pod: Pod): void {
    if (!isMirror(pod)) return;
    this.#o.mirrors.wake();
    const own = this.#o.desired.podOfMirror(pod);
    if (!own) return;
    const { uid } = own.metadata;
    const isFirst = isSamePod(own, pod) && !this.#mirrored.has(uid);
    if (isFirst) this.#mirrored.add(uid);
    this.#o.onMirror(uid, isFirst);
  }

  workerChanged(pod: Pod | undefined): void {
    if (pod && isStatic(pod)) this.#o.mirrors.wake();
  }

  forget(uid: PodUid): void {
    this.#mirrored.delete(uid);
    const desired = this.#o.desired.get(uid);
    if (desired && isStatic(desired)) {
      this.#o.apiPods.restarted(uid);
      this.#o.mirrors.podTerminated(fullNameOf(desired));
    } else {
      this.#o.apiPods.forget(uid);
      this.#o.mirrors.wake();
    }
  }
}
