import type { GroupVersionKind, Unstructured, UpdateSubresource } from "../definition.ts";
import { apply } from "../patch/apply.ts";
import { jsonPatch } from "../patch/json-patch.ts";
import { isObject, type Json, type JsonObject, shownValue } from "../patch/json-value.ts";
import { mergePatch } from "../patch/merge-patch.ts";
import { strategicMergePatch } from "../patch/strategic-merge.ts";
import { StatusError } from "../status-error.ts";
import { asJson } from "../storage/object.ts";
import { parseJson, parseYaml } from "./body.ts";
import type { Served } from "./catalog.ts";
import { ignoredByMain } from "./create.ts";
import { asDraft, checkType } from "./decode.ts";
import { type FieldChecks, reportFields } from "./field-checks.ts";
import { mediaType } from "./media-types.ts";
import { badRequest, invalid, unsupportedMediaType } from "./problems.ts";
import type { WriteQuery } from "./query.ts";
import type { Update } from "./update.ts";

const patchTypes = {
  "application/json-patch+json": "json",
  "application/merge-patch+json": "merge",
  "application/strategic-merge-patch+json": "strategic",
  "application/apply-patch+yaml": "apply",
} as const;

export interface PatchRequest {
  readonly served: Served;
  readonly name: string;
  readonly contentType: string | undefined;
  readonly text: string;
  readonly query: WriteQuery;
  readonly subresource: { readonly name: string; readonly rules: UpdateSubresource } | undefined;
  readonly fields: FieldChecks | undefined;
  readonly warn: (text: string) => void;
  readonly now: number;
}

/** Applies a PATCH to an object. Throws immediately if the patch itself is invalid. */
export function patchUpdate(request: PatchRequest): Update {
  const { name, subresource, query } = request;
  const type = typeOf(request.contentType);
  if (query.force !== undefined && type !== "apply")
    throw invalid({ kind: "PatchOptions", group: "meta.k8s.io" }, "", [
      { path: "force", message: "Forbidden: may not be specified for non-apply patch" },
    ]);
  const shared = { name, ...(subresource && { subresource }) };
  if (type === "apply") return { ...shared, tracked: true, mutate: applier(request) };
  return { ...shared, mutate: patcher(request, type) };
}

function typeOf(contentType: string | undefined): (typeof patchTypes)[keyof typeof patchTypes] {
  const type = mediaType(contentType);
  if (Object.hasOwn(patchTypes, type)) return patchTypes[type as keyof typeof patchTypes];
  throw unsupportedMediaType(Object.keys(patchTypes));
}

function patcher(request: PatchRequest, type: "json" | "merge" | "strategic"): Update["mutate"] {
  const { served, text, fields, query } = request;
  const patch = parseJson(text, "error decoding patch") as Json;
  const twice = query.fieldValidation === "Ignore" || !fields ? [] : fields.duplicates(text);
  const warn = once(request.warn);
  return (oldObject) => {
    if (!oldObject) return undefined;
    const live = asJson(oldObject);
    const patched =
      type === "json"
        ? jsonPatch(live, patch)
        : type === "merge"
          ? mergePatch(live, patch)
          : strategicMergePatch(live, patch, served.schema);
    const shown = () => JSON.stringify(type === "strategic" ? shownValue(patch) : JSON.stringify(patched));
    const rejectPatch = (why: string) =>
      invalid({ kind: "", group: "" }, "", [{ path: "patch", message: `Invalid value: ${shown()}: ${why}` }]);
    const expectedKind = kindOf(served);
    checkType(patched, expectedKind);
    const report = reportFields(fields, expectedKind, patched, undefined);
    if (report.decodingError !== undefined) throw rejectPatch(report.decodingError);
    const strict = [
      ...twice.map(
        (path) => `${type === "json" ? "json patch " : ""}duplicate field ${JSON.stringify(path)}`,
      ),
      ...report.strict,
    ];
    if (strict.length > 0 && query.fieldValidation === "Strict")
      throw rejectPatch(`strict decoding error: ${strict.join(", ")}`);
    if (query.fieldValidation === "Warn") strict.forEach(warn);
    const draft = asDraft(report.value as JsonObject, expectedKind);
    if (draft.metadata.name !== request.name)
      throw invalid(served.definition, request.name, [
        {
          path: "metadata.name",
          message: `Invalid value: ${JSON.stringify(draft.metadata.name ?? "")}: field is immutable`,
        },
      ]);
    return draft;
  };
}

function applier(request: PatchRequest): Update["mutate"] {
  const { served, name, text, fields, query, subresource } = request;
  const { value, duplicates } = parseYaml(text);
  if (!isObject(value as Json)) throw badRequest("error decoding YAML: the body is not an object");
  const applied = value as JsonObject;
  if (duplicates.length > 0 && query.fieldValidation === "Strict")
    throw badRequest(
      `error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n  ${duplicates.join("\n  ")}`,
    );
  if (query.fieldValidation === "Warn") duplicates.forEach(request.warn);
  const metadata = isObject(applied.metadata) ? applied.metadata : {};
  const given = metadata.name ?? "";
  if (given !== "" && given !== name)
    throw badRequest(`the name of the object (${given}) does not match the name on the URL (${name})`);
  checkApplied(request, applied, metadata);
  return (oldObject) => {
    const live = oldObject && asJson(oldObject);
    const result = apply(live, applied, {
      schema: served.schema,
      manager: query.fieldManager,
      subresource: subresource?.name ?? "",
      now: request.now,
      ignored: subresource ? subresource.rules.ignored : ignoredByMain(served.definition),
      force: query.force === true,
    });
    // A subresource does not create the object.
    if (!oldObject && subresource) return undefined;
    const report = reportFields(fields, kindOf(served), result, undefined);
    const draft: Unstructured = asDraft(report.value as JsonObject, kindOf(served));
    draft.metadata.name = name;
    return draft;
  };
}

/** An apply with unknown fields is rejected, regardless of fieldValidation: they could have no owner. */
function checkApplied({ served, fields }: PatchRequest, applied: JsonObject, metadata: JsonObject): void {
  const expectedKind = kindOf(served);
  const report = reportFields(fields, expectedKind, applied, undefined);
  const unknown = report.strict.map((text) => `.${JSON.parse(text.slice(text.indexOf('"')))}`);
  const what = `${metadata.namespace ?? ""}/${metadata.name ?? ""}; ${expectedKind.group}/${expectedKind.version}, Kind=${expectedKind.kind}`;
  if (unknown.length > 0) {
    const lines = unknown.map((path) => `${path}: field not declared in schema`);
    const list = lines.length === 1 ? lines[0] : `errors:\n  ${lines.join("\n  ")}`;
    throw new StatusError(500, "", `failed to create typed patch object (${what}): ${list}`);
  }
  if (report.decodingError !== undefined)
    throw new StatusError(500, "", `failed to create typed patch object (${what}): ${report.decodingError}`);
}

function kindOf({ group, version, definition }: Served): GroupVersionKind {
  return { group, version, kind: definition.kind };
}

/** A patch may be applied several times; the client is warned once. */
function once(warn: (text: string) => void): (text: string) => void {
  const warnings = new Set<string>();
  return (text) => {
    if (!warnings.has(text)) warn(text);
    warnings.add(text);
  };
}
