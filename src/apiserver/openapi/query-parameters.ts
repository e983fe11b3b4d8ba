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

const pretty = parameter("pretty", "If 'true', the answer is indented.");
const dryRun = parameter("dryRun", "'All' checks the request without keeping its result.");
const fieldManager = parameter("fieldManager", "Who is on record as owner of the fields that are written.");
const fieldValidation = parameter(
  "fieldValidation",
  "What unknown and doubled fields do: Ignore, Warn (the default), or Strict, which refuses the request.",
);
const force = parameter("force", "An apply takes over fields that others own.", "boolean");

const listing = [
  parameter("allowWatchBookmarks", "A watch tells now and then how far it has come.", "boolean"),
  parameter("continue", "Where the list before this one ended."),
  parameter("fieldSelector", "Only objects with these values of fields."),
  parameter("labelSelector", "Only objects with these labels."),
  parameter("limit", "Most objects in one answer.", "integer"),
  parameter("resourceVersion", "The state to list, or the change to watch from."),
  parameter("resourceVersionMatch", "Whether that state must be met exactly."),
  parameter("sendInitialEvents", "A watch begins with what is there.", "boolean"),
  parameter("timeoutSeconds", "When the request ends at the latest.", "integer"),
  parameter("watch", "Changes as they come instead of a list.", "boolean"),
];

const deleting = [
  dryRun,
  parameter("gracePeriodSeconds", "How long an object may take to end; 0 is at once.", "integer"),
  parameter(
    "ignoreStoreReadErrorWithClusterBreakingPotential",
    "Deletes also what cannot be read any more.",
    "boolean",
  ),
  parameter("orphanDependents", "Use propagationPolicy instead.", "boolean"),
  parameter("propagationPolicy", "What becomes of dependents: Orphan, Background or Foreground."),
];

/** What may stand behind the question mark of an operation. */
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
      return [pretty, ...listing.filter(({ name }) => !/atch/.test(name)), ...deleting];
    default:
      return action satisfies never;
  }
}

/** The parts of a path that are in braces. */
export function pathParameters(path: string): QueryParameter[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) =>
    parameter(name!, name === "namespace" ? "The namespace of the object." : "The name of the object."),
  );
}
