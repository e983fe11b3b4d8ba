import type { ListParameters } from "../storage/version-match.ts";
import type { WatchParameters } from "../storage/watch-start.ts";
import { badRequest, invalid } from "./problems.ts";

/** The parameters of a list or watch. */
export interface ListQuery extends ListParameters, WatchParameters {
  readonly watch: boolean;
  readonly labelSelector: string;
  readonly fieldSelector: string;
  readonly timeoutSeconds: number | undefined;
}

export function listQuery(query: URLSearchParams): ListQuery {
  const text = (name: string) => query.get(name) || undefined;
  return {
    watch: flag(query, "watch") === true,
    labelSelector: query.get("labelSelector") ?? "",
    fieldSelector: query.get("fieldSelector") ?? "",
    resourceVersion: text("resourceVersion"),
    resourceVersionMatch: text("resourceVersionMatch"),
    limit: count(query, "limit"),
    continueToken: text("continue"),
    sendInitialEvents: flag(query, "sendInitialEvents"),
    allowWatchBookmarks: flag(query, "allowWatchBookmarks"),
    timeoutSeconds: count(query, "timeoutSeconds"),
  };
}

export type FieldValidation = "Ignore" | "Warn" | "Strict";

/** The parameters of a write. */
export interface WriteQuery {
  readonly dryRun: boolean;
  /** "" if the request has none. */
  readonly fieldManager: string;
  readonly fieldValidation: FieldValidation;
  readonly force: boolean | undefined;
}

const validations = ["", "Ignore", "Strict", "Warn"];

/** `options` is the name of the parameters in messages: CreateOptions, UpdateOptions, PatchOptions. */
export function writeQuery(query: URLSearchParams, options: string): WriteQuery {
  const groupKind = { kind: options, group: "meta.k8s.io" };
  const fieldManager = query.get("fieldManager") ?? "";
  const problem = managerProblem(fieldManager);
  if (problem) throw invalid(groupKind, "", [{ path: "fieldManager", message: problem }]);
  const validation = query.get("fieldValidation") ?? "";
  if (!validations.includes(validation)) {
    const message = `Unsupported value: ${JSON.stringify(validation)}: supported values: "", "Ignore", "Strict", "Warn"`;
    throw invalid(groupKind, "", [{ path: "fieldValidation", message }]);
  }
  return {
    dryRun: dryRun(query.getAll("dryRun"), groupKind),
    fieldManager,
    fieldValidation: (validation || "Warn") as FieldValidation,
    force: flag(query, "force"),
  };
}

export function dryRun(values: readonly string[], groupKind: { kind: string; group: string }): boolean {
  if (values.length === 0) return false;
  if (values.length === 1 && values[0] === "All") return true;
  const message = `Unsupported value: ${JSON.stringify(values)}: supported values: "All"`;
  throw invalid(groupKind, "", [{ path: "dryRun", message }]);
}

const maxManagerLength = 128;

function managerProblem(manager: string): string | undefined {
  if (manager.length > maxManagerLength) return `Too long: may not be more than ${maxManagerLength} bytes`;
  const at = manager.search(/[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/u);
  if (at < 0) return undefined;
  return `Invalid value: ${JSON.stringify(manager)}: invalid character at position ${at}`;
}

/** The field manager of a request defaults to the product name of the user agent. */
export function managerOf(fieldManager: string, userAgent: string | undefined): string {
  if (fieldManager !== "") return fieldManager;
  const [product = ""] = (userAgent ?? "").split("/");
  return product.slice(0, maxManagerLength);
}

/** Any value except "false" and "0" is true. */
export function flag(query: URLSearchParams, name: string): boolean | undefined {
  const value = query.get(name);
  return value === null ? undefined : value !== "false" && value !== "0";
}

function count(query: URLSearchParams, name: string): number | undefined {
  const value = query.get(name);
  if (!value) return undefined;
  const number = /^\d{1,15}$/.test(value) ? Number(value) : Number.NaN;
  if (Number.isNaN(number))
    throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(value)}: invalid syntax`);
  return number;
}
