import type { ApiObject } from "./api-object.ts";
import type { ObjectRef } from "./objects-of.ts";

/** What became of an object; without one, it is gone. */
export interface ObjectChange extends ObjectRef {
  readonly object?: ApiObject;
}

/** One way to have the objects that pods refer to. */
export interface ObjectStore {
  /** One more pod refers to it. */
  refer(ref: ObjectRef): void;
  /** Nobody refers to it any more. */
  drop(ref: ObjectRef): void;
  /** Fails with a 404 if there is no such object. */
  get(ref: ObjectRef, signal: AbortSignal): Promise<ApiObject>;
  start?(signal: AbortSignal): void;
  readonly done?: Promise<unknown>;
}
