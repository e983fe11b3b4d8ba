import type { GroupVersionKind, Unstructured } from "../definition.ts";
import { isObject, type Json, type JsonObject, withoutNulls } from "../patch/json-value.ts";
import { fromJson } from "../storage/object.ts";
import { type BodyEncoding, parseBody } from "./body.ts";
import { apiVersionOf } from "./catalog.ts";
import { type FieldChecks, reportFields } from "./field-checks.ts";
import { badRequest } from "./problems.ts";
import type { FieldValidation } from "./query.ts";

export interface DecodeOptions {
  readonly encoding: BodyEncoding;
  readonly validation: FieldValidation;
  readonly fields: FieldChecks | undefined;
  /** Returned to the client as a warning. */
  readonly warn: (text: string) => void;
}

/** The object in the body of a create, an update or an action. */
export function decodeObject(
  bytes: Buffer,
  expectedKind: GroupVersionKind,
  options: DecodeOptions,
): Unstructured {
  const { encoding, validation, fields, warn } = options;
  const { value, duplicates } = parseBody(bytes, encoding, expectedKind);
  if (!isObject(value as Json))
    throw badRequest(
      `the object provided is unrecognized (must be of type ${expectedKind.kind}): couldn't get version/kind; json parse error: ` +
        "the body is not an object",
    );
  const body = value as JsonObject;
  checkType(body, expectedKind);
  const report = reportFields(
    fields,
    expectedKind,
    body,
    encoding === "json" && validation !== "Ignore" ? bytes.toString("utf8") : undefined,
  );
  if (report.decodingError !== undefined) throw unreadable(expectedKind, report.decodingError);
  const strict = [...duplicates, ...report.strict];
  if (strict.length > 0 && validation === "Strict")
    throw unreadable(expectedKind, `strict decoding error: ${strict.join(", ")}`);
  if (validation === "Warn") strict.forEach(warn);
  return asDraft(report.value as JsonObject, expectedKind);
}

/** A body may omit apiVersion and kind, but must not have others. */
export function checkType(body: JsonObject, { group, version, kind }: GroupVersionKind): void {
  const expected = apiVersionOf(group, version);
  const { apiVersion = "", kind: given = "" } = body;
  if (typeof apiVersion !== "string" || typeof given !== "string")
    throw badRequest(
      `couldn't get version/kind; json parse error: json: cannot unmarshal ${typeof apiVersion === "string" ? "kind" : "apiVersion"} into Go value of type string`,
    );
  if (apiVersion !== "" && apiVersion !== expected)
    throw badRequest(
      `the API version in the data (${apiVersion}) does not match the expected API version (${expected})`,
    );
  if (given !== "" && given !== kind)
    throw badRequest(
      `${given} in version ${JSON.stringify(version)} cannot be handled as a ${kind}: the kinds do not match`,
    );
}

/** Puts apiVersion and kind first, which readers of the store rely on. */
export function asDraft(body: JsonObject, { group, version, kind }: GroupVersionKind): Unstructured {
  const { apiVersion: _, kind: __, metadata = {}, ...rest } = withoutNulls(body);
  if (!isObject(metadata)) throw unreadable({ group, version, kind }, "metadata is not an object");
  for (const field of ["name", "namespace", "generateName", "uid", "resourceVersion"])
    if (metadata[field] !== undefined && typeof metadata[field] !== "string")
      throw unreadable({ group, version, kind }, `metadata.${field} is not a string`);
  return fromJson({ apiVersion: apiVersionOf(group, version), kind, metadata, ...rest });
}

function unreadable({ version, kind }: GroupVersionKind, why: string) {
  return badRequest(`${kind} in version ${JSON.stringify(version)} cannot be handled as a ${kind}: ${why}`);
}
