import type { ApiObject } from "./api-object.ts";
import type { ObjectRef } from "./objects-of.ts";

/** A changed object; without `object` it was deleted. */
export interface ObjectChange extends ObjectRef {
  readonly object?: ApiObject;
}

/** One way to provide the objects that pods refer to. */
export interface ObjectStore {
  /** Another pod refers to the object. */
  addReference(ref: ObjectRef): void;
  /** No pod refers to the object. */
  drop(ref: ObjectRef): void;
  /** Fails with a 404 if there is no such object. */
  get(ref: ObjectRef, signal: AbortSignal): Promise<ApiObject>;
  start?(signal: AbortSignal): void;
  readonly done?: Promise<unknown>;
}
