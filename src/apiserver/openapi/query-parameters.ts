import type { Operation } from "./operations.ts";

export interface QueryParameter {
  readonly name: string;
  readonly type: "boolean" | "integer" | "string";
  readonly description: string;
}

function parameter(
  name: string,
  description: string,
  type: QueryParameter["type"] = "string",
): QueryParameter {
  return { name, type, description };
}

const pretty = parameter("pretty", "If 'true', the response is indented.");
const dryRun = parameter("dryRun", "'All' validates the request without persisting it.");
const fieldManager = parameter("fieldManager", "Name of the manager that owns the written fields.");
const fieldValidation = parameter(
  "fieldValidation",
  "How unknown and duplicate fields are handled: Ignore, Warn (the default), or Strict, which rejects the request.",
);
const force = parameter("force", "An apply takes ownership of fields that other managers own.", "boolean");

const listing = [
  parameter("allowWatchBookmarks", "A watch sends bookmark events.", "boolean"),
  parameter("continue", "Token of the previous chunk of the list."),
  parameter("fieldSelector", "Selects objects by fields."),
  parameter("labelSelector", "Selects objects by labels."),
  parameter("limit", "Maximum number of objects in the response.", "integer"),
  parameter("resourceVersion", "Resource version to list, or to watch from."),
  parameter("resourceVersionMatch", "How the resource version is matched."),
  parameter("sendInitialEvents", "A watch starts with the existing objects.", "boolean"),
  parameter("timeoutSeconds", "Timeout of the request in seconds.", "integer"),
  parameter("watch", "Watches for changes instead of listing.", "boolean"),
];

const deleting = [
  dryRun,
  parameter("gracePeriodSeconds", "Grace period in seconds; 0 deletes immediately.", "integer"),
  parameter(
    "ignoreStoreReadErrorWithClusterBreakingPotential",
    "Also deletes an object that cannot be decoded.",
    "boolean",
  ),
  parameter("orphanDependents", "Deprecated; use propagationPolicy.", "boolean"),
  parameter("propagationPolicy", "How dependents are deleted: Orphan, Background or Foreground."),
];

/** The query parameters of an operation. */
export function queryParameters(action: Operation["action"]): readonly QueryParameter[] {
  switch (action) {
    case "connect":
      return [];
    case "get":
      return [pretty];
    case "list":
      return [pretty, ...listing];
    case "post":
    case "put":
      return [pretty, dryRun, fieldManager, fieldValidation];
    case "patch":
      return [pretty, dryRun, fieldManager, fieldValidation, force];
    case "delete":
      return [pretty, ...deleting];
    case "deletecollection":
      return [pretty, ...listing.filter(({ name }) => !/[wW]atch/.test(name)), ...deleting];
    default:
      return action satisfies never;
  }
}

/** The path parameters, in braces. */
export function pathParameters(path: string): QueryParameter[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) =>
    parameter(name!, name === "namespace" ? "The namespace of the object." : "The name of the object."),
  );
}
