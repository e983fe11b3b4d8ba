import type { Unstructured } from "../definition.ts";
import { wireTime } from "../patch/managed-fields.ts";
import type { ApiObject } from "../storage/object.ts";
import type { Propagation } from "./delete-options.ts";

/** The effect of a deletion on an object. */
export type DeletionPlan =
  | { readonly kind: "remove" }
  /** It is kept for its grace period or its finalizers, in this state. */
  | { readonly kind: "mark"; readonly draft: Unstructured }
  /** It is already being deleted; nothing changes. */
  | { readonly kind: "pending" };

export interface DeletionRequest {
  readonly gracePeriodSeconds?: number | undefined;
  readonly propagation?: Propagation | undefined;
  readonly now: number;
  /** The grace period of the kind; absent if deletion is not graceful. */
  readonly grace?: ((requested: number | undefined) => number) | undefined;
  /** The finalizers that a controller handles. */
  readonly handled: readonly Propagation[];
  /** True if the deleted object has finalizers in its spec. */
  readonly hasSpecFinalizers?: ((draft: Unstructured) => boolean) | undefined;
}

export function planDeletion(current: ApiObject, requested: DeletionRequest): DeletionPlan {
  const { now, grace } = requested;
  const draft: Unstructured = structuredClone(current);
  const meta = draft.metadata;
  // As upstream, a negative one means one second.
  const seconds =
    requested.gracePeriodSeconds === undefined ? undefined : atLeast(requested.gracePeriodSeconds);

  let graceful = false;
  if (grace && meta.deletionTimestamp !== undefined) {
    const left = meta.deletionGracePeriodSeconds ?? 0;
    if (left !== 0) {
      if (seconds === undefined || seconds >= left) return { kind: "pending" };
      shorten(draft, left, seconds, now);
      graceful = true;
    }
  } else if (grace) {
    const period = grace(seconds);
    meta.deletionTimestamp = wireTime(now + period * 1000);
    meta.deletionGracePeriodSeconds = period;
    countGeneration(draft);
    graceful = true;
  }

  propagate(draft, requested);
  const isKept = (meta.finalizers ?? []).length > 0 || requested.hasSpecFinalizers?.(draft) === true;
  if (isKept && !graceful) markDeleted(draft, now);
  if (isKept || (graceful && (meta.deletionGracePeriodSeconds ?? 0) > 0)) return { kind: "mark", draft };
  return { kind: "remove" };
}

/** True if this update removes the last finalizer of a deleted object. Upstream: ShouldDeleteDuringUpdate. */
export function shouldDeleteDuringUpdate(
  oldObject: ApiObject,
  newObject: Unstructured,
  hasSpecFinalizers: boolean,
): boolean {
  if (hasSpecFinalizers || (newObject.metadata.finalizers ?? []).length > 0) return false;
  return (
    oldObject.metadata.deletionTimestamp !== undefined && oldObject.metadata.deletionGracePeriodSeconds === 0
  );
}

function shorten(draft: Unstructured, left: number, seconds: number, now: number): void {
  const meta = draft.metadata;
  const startedAt = Date.parse(meta.deletionTimestamp!) - left * 1000;
  const end = startedAt + seconds * 1000;
  // The period has already elapsed; one second is left for the component that stops the object.
  const elapsed = end < now;
  meta.deletionTimestamp = wireTime(elapsed ? now : end);
  meta.deletionGracePeriodSeconds = elapsed && seconds !== 0 ? 1 : seconds;
}

function markDeleted(draft: Unstructured, now: number): void {
  const meta = draft.metadata;
  if (meta.deletionTimestamp === undefined) countGeneration(draft);
  if (meta.deletionTimestamp === undefined || Date.parse(meta.deletionTimestamp) > now)
    meta.deletionTimestamp = wireTime(now);
  meta.deletionGracePeriodSeconds = 0;
}

const finalizerOf = { Orphan: "orphan", Foreground: "foregroundDeletion" } as const;

/** The propagation policy is recorded as a finalizer, if a controller handles it. */
function propagate(draft: Unstructured, { propagation, handled }: DeletionRequest): void {
  if (propagation === undefined) return;
  const others = (draft.metadata.finalizers ?? []).filter(
    (name) => name !== finalizerOf.Orphan && name !== finalizerOf.Foreground,
  );
  const own = propagation !== "Background" && handled.includes(propagation) ? [finalizerOf[propagation]] : [];
  const finalizers = [...others, ...own];
  if (finalizers.length > 0) draft.metadata.finalizers = finalizers;
  else delete draft.metadata.finalizers;
}

function countGeneration(draft: Unstructured): void {
  if ((draft.metadata.generation ?? 0) > 0) draft.metadata.generation = draft.metadata.generation! + 1;
}

function atLeast(seconds: number): number {
  return seconds < 0 ? 1 : seconds;
}
