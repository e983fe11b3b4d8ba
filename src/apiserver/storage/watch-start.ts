import { StoreError } from "./errors.ts";
import { parseVersion } from "./version.ts";

/** The start of a watch. */
export type WatchStart =
  /** With the existing objects, each as ADDED, then the changes. */
  | { readonly kind: "state"; readonly notOlderThan: number; readonly markEnd: boolean }
  /** With the next change. */
  | { readonly kind: "now" }
  /** With the first change after a version; waits for a future one. */
  | { readonly kind: "after"; readonly version: number };

export interface WatchParameters {
  readonly resourceVersion?: string | undefined;
  readonly resourceVersionMatch?: string | undefined;
  readonly sendInitialEvents?: boolean | undefined;
  readonly allowWatchBookmarks?: boolean | undefined;
}

/** The start of a watch by the parameters of its request. */
export function watchStart(parameters: WatchParameters): WatchStart {
  const { resourceVersionMatch: match, sendInitialEvents, allowWatchBookmarks } = parameters;
  const version = parseVersion(parameters.resourceVersion) ?? 0;
  if (sendInitialEvents === undefined) {
    if (match)
      throw badRequest("resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided");
    if (version === 0) return { kind: "state", notOlderThan: 0, markEnd: false };
    return { kind: "after", version };
  }
  if (match !== "NotOlderThan")
    throw badRequest("sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
  if (sendInitialEvents)
    return { kind: "state", notOlderThan: version, markEnd: allowWatchBookmarks === true };
  return version === 0 ? { kind: "now" } : { kind: "after", version };
}

function badRequest(message: string): StoreError {
  return new StoreError("BadRequest", message);
}
