import type { ApiObject, StoredObject } from "./object.ts";

/** One write in the history. */
export interface ChangeEvent {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly version: number;
  /** The state after the write. For a deletion: the last state, at the version of the deletion. */
  readonly object: StoredObject;
  /** Before the write; absent for ADDED. */
  readonly previous: StoredObject | undefined;
}

export interface BookmarkEvent {
  readonly type: "BOOKMARK";
  /** The watcher has received all changes up to this version. */
  readonly version: number;
  /** Marks the end of the initial events of a watch with sendInitialEvents. */
  readonly initialEventsEnd: boolean;
}

export type WatchEvent = ChangeEvent | BookmarkEvent;

/** The objects that a list or watch selects. */
export interface Scope {
  readonly resource: string;
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  /** Label and field selectors. */
  readonly matches?: ((object: ApiObject) => boolean) | undefined;
}

/** The event for a watcher of this scope: an object that no longer matches is deleted for it. */
export function eventInScope(scope: Scope, event: ChangeEvent): ChangeEvent | undefined {
  const { key } = event.object;
  if (key.resource !== scope.resource) return undefined;
  if (scope.namespace !== undefined && key.namespace !== scope.namespace) return undefined;
  if (scope.name !== undefined && key.name !== scope.name) return undefined;
  const { matches } = scope;
  if (!matches) return event;
  const matchedBefore = event.previous !== undefined && matches(event.previous.value);
  const matchesNow = event.type !== "DELETED" && matches(event.object.value);
  if (matchedBefore && matchesNow) return event;
  if (matchesNow) return event.type === "ADDED" ? event : { ...event, type: "ADDED" };
  if (!matchedBefore) return undefined;
  if (event.type === "DELETED") return event;
  // The client gets the last state that matched its selector, at the version of this change.
  return { ...event, type: "DELETED", object: event.previous.at(event.version) };
}
