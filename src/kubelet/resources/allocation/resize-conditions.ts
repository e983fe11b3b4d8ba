import type { Clock } from "../../../lib/base/clock.ts";
import { type WallTime, wallTime } from "../../../lib/base/time.ts";
import type { Pod, PodUid } from "../../../lib/model/pod.ts";

export type ResizeConditionType = "PodResizePending" | "PodResizeInProgress";

/** A condition of a pod about its resize; it is True as long as it exists. */
export interface ResizeCondition {
  readonly type: ResizeConditionType;
  readonly reason: string;
  readonly message: string;
  /** The generation of the pod that requests the resize. */
  readonly generation: number;
  /** Since when it has its reason. */
  readonly since: WallTime;
  /** When it last changed. */
  readonly at: WallTime;
}

const types: readonly ResizeConditionType[] = ["PodResizePending", "PodResizeInProgress"];

/** The conditions of pods about their resize. */
export class ResizeConditions {
  readonly #clock: Clock;
  #byPod = new Map<PodUid, Map<ResizeConditionType, ResizeCondition>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  of(uid: PodUid): ResizeCondition[] {
    const conditions = this.#byPod.get(uid);
    return types.flatMap((type) => conditions?.get(type) ?? []);
  }

  get(uid: PodUid, type: ResizeConditionType): ResizeCondition | undefined {
    return this.#byPod.get(uid)?.get(type);
  }

  /** The conditions of this type, of all pods. */
  all(type: ResizeConditionType): ResizeCondition[] {
    return [...this.#byPod.values()].flatMap((conditions) => conditions.get(type) ?? []);
  }

  /** True if anything but the times has changed. */
  set(
    uid: PodUid,
    type: ResizeConditionType,
    { reason, message, generation }: Pick<ResizeCondition, "reason" | "message" | "generation">,
  ): boolean {
    const before = this.get(uid, type);
    if (before?.reason === reason && before.message === message && before.generation === generation)
      return false;
    const at = this.#clock.wall();
    const since = before?.reason === reason ? before.since : at;
    this.#put(uid, { type, reason, message, generation, since, at });
    return true;
  }

  /** The condition that it had. */
  clear(uid: PodUid, type: ResizeConditionType): ResizeCondition | undefined {
    const conditions = this.#byPod.get(uid);
    const before = conditions?.get(type);
    conditions?.delete(type);
    if (conditions?.size === 0) this.#byPod.delete(uid);
    return before;
  }

  /** Takes over what the status of a pod has from a previous agent. */
  restore({ metadata, status }: Pod): void {
    for (const type of types) {
      const found = status?.conditions?.find((condition) => condition.type === type);
      if (!found || this.get(metadata.uid, type)) continue;
      const since = found.lastTransitionTime ? wallTime(found.lastTransitionTime) : this.#clock.wall();
      const { reason = "", message = "", observedGeneration: generation = 0 } = found;
      const at = found.lastProbeTime ? wallTime(found.lastProbeTime) : since;
      this.#put(metadata.uid, { type, reason, message, generation, since, at });
    }
  }

  forget(uid: PodUid): void {
    this.#byPod.delete(uid);
  }

  #put(uid: PodUid, condition: ResizeCondition): void {
    const conditions = this.#byPod.get(uid) ?? new Map<ResizeConditionType, ResizeCondition>();
    this.#byPod.set(uid, conditions.set(condition.type, condition));
  }
}
