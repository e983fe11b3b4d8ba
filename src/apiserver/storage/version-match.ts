import { StoreError } from "./errors.ts";
import { parseVersion } from "./version.ts";

/** The version of the state that a list requests. */
export type VersionMatch =
  /** Includes all writes acknowledged before the call. */
  | { readonly kind: "latest" }
  | { readonly kind: "notOlderThan"; readonly version: number }
  | { readonly kind: "exact"; readonly version: number };

export interface ListParameters {
  readonly resourceVersion?: string | undefined;
  readonly resourceVersionMatch?: string | undefined;
  readonly limit?: number | undefined;
  readonly continueToken?: string | undefined;
}

/** The version match of a list request. "0" (any version) returns the latest. */
export function versionMatch(parameters: ListParameters): VersionMatch {
  const { resourceVersionMatch: match, limit, continueToken } = parameters;
  const version = parseVersion(parameters.resourceVersion);
  if (continueToken) {
    if (match) throw badRequest("resourceVersionMatch is forbidden when continue is provided");
    if (version) throw badRequest("specifying resource version is not allowed when using continue");
    return { kind: "latest" };
  }
  if (match && version === undefined)
    throw badRequest("resourceVersionMatch is forbidden unless resourceVersion is provided");
  switch (match) {
    case "Exact":
      if (!version) throw badRequest('resourceVersionMatch "Exact" is forbidden for resourceVersion "0"');
      return { kind: "exact", version };
    case "NotOlderThan":
      return version ? { kind: "notOlderThan", version } : { kind: "latest" };
    case undefined:
    case "":
      if (!version) return { kind: "latest" };
      // Without resourceVersionMatch a paginated list is of exactly the requested version.
      return { kind: limit ? "exact" : "notOlderThan", version };
    default:
      throw badRequest(`resourceVersionMatch: Unsupported value: ${JSON.stringify(match)}`);
  }
}

function badRequest(message: string): StoreError {
  return new StoreError("BadRequest", message);
}
