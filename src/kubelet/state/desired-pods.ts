import {
  annotationHash,
  annotationMirror,
  fullNameOf,
  isStatic,
  type Pod,
  type PodFullName,
  type PodUid,
} from "../../lib/model/pod.ts";

/** A mirror pod of a static pod of this node; its spec is never run. */
export function isMirror(pod: Pod): boolean {
  return pod.metadata.annotations?.[annotationMirror] !== undefined;
}

/** True if the pod in the API is this pod, or the mirror of this version of it. */
export function isSamePod(pod: Pod, inApi: Pod): boolean {
  if (!isStatic(pod)) return inApi.metadata.uid === pod.metadata.uid;
  const mirrored = inApi.metadata.annotations?.[annotationMirror];
  return mirrored !== undefined && mirrored === pod.metadata.annotations?.[annotationHash];
}

/**
 * The desired pods of this node (the pod manager), and the mirror pods of its static pods. A pod and
 * its mirror have the same full name and different UIDs.
 */
export class DesiredPods {
  #pods = new Map<PodUid, Pod>();
  #mirrors = new Map<PodUid, Pod>();
  #byFullName = new Map<PodFullName, Pod>();
  #mirrorByFullName = new Map<PodFullName, Pod>();

  /** Adds or updates a pod. */
  set(pod: Pod): void {
    this.remove(pod.metadata.uid);
    const mirror = isMirror(pod);
    (mirror ? this.#mirrors : this.#pods).set(pod.metadata.uid, pod);
    (mirror ? this.#mirrorByFullName : this.#byFullName).set(fullNameOf(pod), pod);
  }

  remove(uid: PodUid): void {
    for (const [byUid, byName] of [
      [this.#pods, this.#byFullName],
      [this.#mirrors, this.#mirrorByFullName],
    ] as const) {
      const pod = byUid.get(uid);
      if (!pod) continue;
      byUid.delete(uid);
      // A newer pod may have the name while this one was terminating.
      if (byName.get(fullNameOf(pod)) === pod) byName.delete(fullNameOf(pod));
    }
  }

  get(uid: PodUid): Pod | undefined {
    return this.#pods.get(uid);
  }

  byFullName(name: PodFullName): Pod | undefined {
    return this.#byFullName.get(name);
  }

  /** All pods to run, without mirror pods. */
  all(): Pod[] {
    return [...this.#pods.values()];
  }

  staticPods(): Pod[] {
    return this.all().filter(isStatic);
  }

  mirrors(): Pod[] {
    return [...this.#mirrors.values()];
  }

  mirrorOf(pod: Pod): Pod | undefined {
    return this.#mirrorByFullName.get(fullNameOf(pod));
  }

  /** The static pod of a mirror. */
  podOfMirror(mirror: Pod): Pod | undefined {
    return this.#byFullName.get(fullNameOf(mirror));
  }
}
