import { KubeletError } from "../../../lib/base/errors.ts";
import type { PodUid } from "../../../lib/model/pod.ts";

/** Host IDs that pods may use for their users and groups. */
export interface IdRange {
  readonly first: number;
  readonly length: number;
}

const slotUnit = 65_536;

/**
 * Which pod has which host IDs. The range is divided into equal slots, one per pod, and no two pods ever share a slot: that
 * keeps a process that breaks out of one pod away from the files of another.
 */
export class IdRanges {
  readonly idsPerPod: number;
  readonly #offset: number;
  readonly #count: number;
  readonly #slots = new Map<PodUid, number>();
  readonly #used = new Set<number>();
  #next = 0;

  constructor({ range, idsPerPod, maxPods }: { range: IdRange; idsPerPod: number; maxPods: number }) {
    const { first, length } = range;
    const invalid = (message: string) => new KubeletError("UserNamespaces", message);
    if (idsPerPod <= 0 || idsPerPod % slotUnit !== 0)
      throw invalid(`kubelet user namespace length ${idsPerPod} is not a multiple of ${slotUnit}`);
    if (first % idsPerPod !== 0)
      throw invalid(`kubelet user assigned ID ${first} is not a multiple of ${idsPerPod}`);
    // The first slot has the users of the host, including root.
    if (first < idsPerPod)
      throw invalid(`kubelet user assigned ID ${first} must be greater or equal to ${idsPerPod}`);
    if (length % idsPerPod !== 0)
      throw invalid(`kubelet user assigned IDs length ${length} is not a multiple of ${idsPerPod}`);
    if (length / idsPerPod < maxPods)
      throw invalid(`kubelet user assigned IDs are not enough to support ${maxPods} pods`);
    this.idsPerPod = idsPerPod;
    this.#offset = first / idsPerPod;
    this.#count = length / idsPerPod;
  }

  /** The first ID of the pod's slot. */
  of(uid: PodUid): number | undefined {
    const slot = this.#slots.get(uid);
    return slot === undefined ? undefined : (slot + this.#offset) * this.idsPerPod;
  }

  uids(): PodUid[] {
    return [...this.#slots.keys()];
  }

  /** Assigns a slot to the pod. A slot that was just released is the last to be reused. */
  allocate(uid: PodUid): number {
    const known = this.of(uid);
    if (known !== undefined) return known;
    for (let i = 0; i < this.#count; i++) {
      const slot = (this.#next + i) % this.#count;
      if (this.#used.has(slot)) continue;
      this.#assign(uid, slot);
      this.#next = slot + 1;
      return (slot + this.#offset) * this.idsPerPod;
    }
    throw new KubeletError("UserNamespaces", "could not find an empty slot to allocate a user namespace");
  }

  /** Records IDs that were assigned to a pod earlier. Throws if they are invalid or used by another pod. */
  record(uid: PodUid, first: number, length: number): void {
    const invalid = (message: string) => new KubeletError("UserNamespaces", message);
    if (length !== this.idsPerPod) throw invalid(`wrong user namespace length ${length}`);
    if (first % this.idsPerPod !== 0) throw invalid(`wrong user namespace offset specified ${first}`);
    const known = this.of(uid);
    if (known === first) return;
    if (known !== undefined) throw invalid(`different user namespace range already used by pod "${uid}"`);
    const slot = first / this.idsPerPod - this.#offset;
    if (slot < 0 || slot >= this.#count) throw invalid(`id ${first} is out of range`);
    if (this.#used.has(slot)) throw invalid(`range picked for pod "${uid}" already taken`);
    this.#assign(uid, slot);
  }

  release(uid: PodUid): void {
    const slot = this.#slots.get(uid);
    if (slot === undefined) return;
    this.#slots.delete(uid);
    this.#used.delete(slot);
  }

  #assign(uid: PodUid, slot: number): void {
    this.#slots.set(uid, slot);
    this.#used.add(slot);
  }
}
