import { fullNameOf, isStatic, type Pod, type PodStatus, type PodUid } from "../../../lib/model/pod.ts";
import { type DesiredPods, isMirror, isSamePod } from "../../state/desired-pods.ts";
import type { MirrorPods } from "./mirror-pods.ts";

export interface MirrorWatchOptions {
  readonly mirrors: Pick<MirrorPods, "wake" | "podTerminated">;
  readonly desired: Pick<DesiredPods, "get" | "podOfMirror">;
  /** The pod as it was last watched in the API; for a static pod its mirror. */
  readonly apiPod: (pod: Pod) => Pod | undefined;
  /** The mirror of this static pod has changed; `isFirst`: it was observed for the first time. */
  readonly onMirror: (uid: PodUid, isFirst: boolean) => void;
}

/** The statuses of static pods from before this agent, which their mirrors have, and until when they are used. */
export class MirrorWatch {
  readonly #o: MirrorWatchOptions;
  /** Static pods whose mirror was observed: from then on this agent writes its status. */
  readonly #mirrored = new Set<PodUid>();
  readonly #restarted = new Set<PodUid>();

  constructor(options: MirrorWatchOptions) {
    this.#o = options;
  }

  /** The status of the pod or its mirror; undefined if the pod has terminated since and started again. */
  statusInApi(pod: Pod): PodStatus | undefined {
    return this.#restarted.has(pod.metadata.uid) ? undefined : this.#o.apiPod(pod)?.status;
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
      this.#restarted.add(uid);
      this.#o.mirrors.podTerminated(fullNameOf(desired));
    } else {
      this.#restarted.delete(uid);
      this.#o.mirrors.wake();
    }
  }
}
