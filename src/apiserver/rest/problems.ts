import type { StatusCause } from "../../lib/gen/kubernetes/meta.d.ts";
import type { Problem } from "../../lib/model/validation/problem.ts";
import { StatusError } from "../status-error.ts";

/** The reasons of causes in a Status, by the prefix of the message. */
const causeReasons: readonly (readonly [string, string])[] = [
  ["Required value", "FieldValueRequired"],
  ["Invalid value", "FieldValueInvalid"],
  ["Unsupported value", "FieldValueNotSupported"],
  ["Duplicate value", "FieldValueDuplicate"],
  ["Forbidden", "FieldValueForbidden"],
  ["Not found", "FieldValueNotFound"],
  ["Too many", "FieldValueTooMany"],
  ["Too long", "FieldValueTooLong"],
  ["Internal error", "InternalError"],
];

export function badRequest(message: string): StatusError {
  return new StatusError(400, "BadRequest", message);
}

/** The path has no route, or the resource is not served. */
export function noSuchResource(): StatusError {
  return new StatusError(404, "NotFound", "the server could not find the requested resource", {});
}

export function methodNotAllowed(): StatusError {
  return new StatusError(
    405,
    "MethodNotAllowed",
    "the server does not allow this method on the requested resource",
    {},
  );
}

export function unauthorized(): StatusError {
  return new StatusError(401, "Unauthorized", "Unauthorized");
}

export function tooManyRequests(): StatusError {
  const message = "Too many requests, please try again later.";
  return new StatusError(429, "TooManyRequests", message, { retryAfterSeconds: 1 });
}

export function tooLarge(limit: number): StatusError {
  return new StatusError(413, "RequestEntityTooLarge", `Request entity too large: limit is ${limit}`);
}

export function notAcceptable(accepted: readonly string[]): StatusError {
  return new StatusError(
    406,
    "NotAcceptable",
    `only the following media types are accepted: ${accepted.join(", ")}`,
  );
}

export function unsupportedMediaType(accepted: readonly string[]): StatusError {
  return new StatusError(
    415,
    "UnsupportedMediaType",
    `the body of the request was in an unknown format - accepted media types include: ${accepted.join(", ")}`,
  );
}

export interface Named {
  /** Plural, without group. */
  readonly name: string;
  readonly group: string;
}

export function notFoundError({ name: kind, group }: Named, resource: string, name: string): StatusError {
  return new StatusError(404, "NotFound", `${resource} ${JSON.stringify(name)} not found`, {
    name,
    ...(group && { group }),
    kind,
  });
}

export function conflictError(named: Named, resource: string, name: string, why: string): StatusError {
  const { name: kind, group } = named;
  const message = `Operation cannot be fulfilled on ${resource} ${JSON.stringify(name)}: ${why}`;
  return new StatusError(409, "Conflict", message, { name, ...(group && { group }), kind });
}

export function forbidden(named: Named, resource: string, name: string, why: string): StatusError {
  const { name: kind, group } = named;
  const what =
    resource === "" ? "forbidden" : `${resource}${name && ` ${JSON.stringify(name)}`} is forbidden`;
  return new StatusError(403, "Forbidden", `${what}: ${why}`, {
    ...(name && { name }),
    ...(group && { group }),
    ...(kind && { kind }),
  });
}

/** An object that failed validation. */
export function invalid(
  { kind, group }: { readonly kind: string; readonly group: string },
  name: string,
  problems: readonly Problem[],
): StatusError {
  const seen = new Set<string>();
  const causes: StatusCause[] = [];
  for (const { path, message } of problems) {
    const text = path === "" ? message : `${path}: ${message}`;
    if (seen.has(text)) continue;
    seen.add(text);
    const reason = causeReasons.find(([begin]) => message.startsWith(begin))?.[1] ?? "FieldValueInvalid";
    causes.push({ reason, message, ...(path && { field: path }) });
  }
  const texts = [...seen];
  const list = texts.length === 1 ? texts[0] : `[${texts.join(", ")}]`;
  const qualified = group === "" ? kind : `${kind}.${group}`;
  return new StatusError(422, "Invalid", `${qualified} ${JSON.stringify(name)} is invalid: ${list}`, {
    ...(name && { name }),
    ...(group && { group }),
    ...(kind && { kind }),
    causes,
  });
}
