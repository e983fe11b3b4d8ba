import { KubeletError } from "../../../lib/base/errors.ts";
import type { PodUid } from "../../../lib/model/pod.ts";

/** IDs of the host that pods may use for their own users and groups. */
export interface IdRange {
  readonly first: number;
  readonly length: number;
}

const unit = 65_536;

/**
 * Who has which IDs of the host. The range is cut into equal parts, one a pod, and no two pods ever share a part: that
 * is what keeps a process that breaks out of one pod away from the files of another.
 */
export class IdRanges {
  readonly idsPerPod: number;
  readonly #offset: number;
  readonly #count: number;
  readonly #parts = new Map<PodUid, number>();
  readonly #used = new Set<number>();
  #next = 0;

  constructor({ range, idsPerPod, maxPods }: { range: IdRange; idsPerPod: number; maxPods: number }) {
    const { first, length } = range;
    const complain = (message: string) => new KubeletError("UserNamespaces", message);
    if (idsPerPod <= 0 || idsPerPod % unit !== 0)
      throw complain(`kubelet user namespace length ${idsPerPod} is not a multiple of ${unit}`);
    if (first % idsPerPod !== 0)
      throw complain(`kubelet user assigned ID ${first} is not a multiple of ${idsPerPod}`);
    // The first part has the host's own users, root among them.
    if (first < idsPerPod)
      throw complain(`kubelet user assigned ID ${first} must be greater or equal to ${idsPerPod}`);
    if (length % idsPerPod !== 0)
      throw complain(`kubelet user assigned IDs length ${length} is not a multiple of ${idsPerPod}`);
    if (length / idsPerPod < maxPods)
      throw complain(`kubelet user assigned IDs are not enough to support ${maxPods} pods`);
    this.idsPerPod = idsPerPod;
    this.#offset = first / idsPerPod;
    this.#count = length / idsPerPod;
  }

  /** The first ID of the pod's part, if it has one. */
  of(uid: PodUid): number | undefined {
    const part = this.#parts.get(uid);
    return part === undefined ? undefined : (part + this.#offset) * this.idsPerPod;
  }

  uids(): PodUid[] {
    return [...this.#parts.keys()];
  }

  /** Gives the pod a part of its own. One that was just given back is the last to be used again. */
  allocate(uid: PodUid): number {
    const known = this.of(uid);
    if (known !== undefined) return known;
    for (let i = 0; i < this.#count; i++) {
      const part = (this.#next + i) % this.#count;
      if (this.#used.has(part)) continue;
      this.#take(uid, part);
      this.#next = part + 1;
      return (part + this.#offset) * this.idsPerPod;
    }
    throw new KubeletError("UserNamespaces", "could not find an empty slot to allocate a user namespace");
  }

  /** Notes what a pod was given earlier. Throws if it cannot be so. */
  record(uid: PodUid, first: number, length: number): void {
    const complain = (message: string) => new KubeletError("UserNamespaces", message);
    if (length !== this.idsPerPod) throw complain(`wrong user namespace length ${length}`);
    if (first % this.idsPerPod !== 0) throw complain(`wrong user namespace offset specified ${first}`);
    const known = this.of(uid);
    if (known === first) return;
    if (known !== undefined) throw complain(`different user namespace range already used by pod "${uid}"`);
    const part = first / this.idsPerPod - this.#offset;
    if (part < 0 || part >= this.#count) throw complain(`id ${first} is out of range`);
    if (this.#used.has(part)) throw complain(`range picked for pod "${uid}" already taken`);
    this.#take(uid, part);
  }

  release(uid: PodUid): void {
    const part = this.#parts.get(uid);
    if (part === undefined) return;
    this.#parts.delete(uid);
    this.#used.delete(part);
  }

  #take(uid: PodUid, part: number): void {
    this.#parts.set(uid, part);
    this.#used.add(part);
  }
}
