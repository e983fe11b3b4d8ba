import { fullNameOf, isStatic, type Pod, type PodStatus, type PodUid } from "../../../lib/model/pod.ts";
import { type DesiredPods, isMirror, isSamePod } from "../../state/desired-pods.ts";
import type { MirrorPods } from "./mirror-pods.ts";

export interface MirrorWatchOptions {
  readonly mirrors: Pick<MirrorPods, "poke" | "podEnded">;
  readonly desired: Pick<DesiredPods, "get" | "podOfMirror">;
  /** The pod as it was last watched in the API; for a static pod its mirror. */
  readonly apiPod: (pod: Pod) => Pod | undefined;
  /** The mirror of this static pod is another; `isFirst`: one of it was seen for the first time. */
  readonly onMirror: (uid: PodUid, isFirst: boolean) => void;
}

/** What mirrors report of static pods from before this agent, and until when that counts. */
export class MirrorWatch {
  readonly #o: MirrorWatchOptions;
  /** Static pods whose mirror is known: what it reports now is what this agent wrote. */
  readonly #mirrored = new Set<PodUid>();
  readonly #begunAgain = new Set<PodUid>();

  constructor(options: MirrorWatchOptions) {
    this.#o = options;
  }

  /** Of the pod, or of its mirror; not of one that has ended since and begun again. */
  statusInApi(pod: Pod): PodStatus | undefined {
    return this.#begunAgain.has(pod.metadata.uid) ? undefined : this.#o.apiPod(pod)?.status;
  }

  apiPodChanged(pod: Pod): void {
    if (!isMirror(pod)) return;
    this.#o.mirrors.poke();
    const own = this.#o.desired.podOfMirror(pod);
    if (!own) return;
    const { uid } = own.metadata;
    const isFirst = isSamePod(own, pod) && !this.#mirrored.has(uid);
    if (isFirst) this.#mirrored.add(uid);
    this.#o.onMirror(uid, isFirst);
  }

  workerChanged(pod: Pod | undefined): void {
    if (pod && isStatic(pod)) this.#o.mirrors.poke();
  }

  gone(uid: PodUid): void {
    this.#mirrored.delete(uid);
    const back = this.#o.desired.get(uid);
    if (back && isStatic(back)) {
      this.#begunAgain.add(uid);
      this.#o.mirrors.podEnded(fullNameOf(back));
    } else {
      this.#begunAgain.delete(uid);
      this.#o.mirrors.poke();
    }
  }
}
