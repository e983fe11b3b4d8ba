import { KubeletError } from "../../lib/base/errors.ts";
import { type Fields, fieldLabel } from "./field-labels.ts";

export interface FieldRequirement {
  /** As in the fields of the object, see `selectableFields`. */
  readonly field: string;
  readonly operator: "=" | "!=";
  readonly value: string;
}

/** All requirements must match. */
export type FieldSelector = readonly FieldRequirement[];

const operators = ["!=", "==", "="] as const;

/**
 * The selector of a query parameter: `spec.nodeName=n1,status.phase!=Running`. A field that the kind does not support
 * is rejected.
 */
export function parseFieldSelector(text: string, apiVersion: string, kind: string): FieldSelector {
  return terms(text).map((term) => {
    const { field, operator, value } = parseTerm(term, text);
    return { field: fieldLabel(apiVersion, kind, field), operator, value };
  });
}

export function matchesFields(selector: FieldSelector, fields: Fields): boolean {
  return selector.every(({ field, operator, value }) => {
    const found = Object.hasOwn(fields, field) ? fields[field] : "";
    return (found === value) === (operator === "=");
  });
}

/** The value that the selector requires for a field, if it requires one: lists and watches of one object are cheap. */
export function requiredField(selector: FieldSelector, field: string): string | undefined {
  return selector.find((requirement) => requirement.field === field && requirement.operator === "=")?.value;
}

/** Splits at commas that are not escaped. */
function terms(text: string): string[] {
  return text.match(/(?:\\[\s\S]|[^,\\]|\\$)+/g) ?? [];
}

function parseTerm(term: string, selector: string): FieldRequirement {
  const at = term.search(/!=|=/);
  const operator = at < 0 ? undefined : operators.find((candidate) => term.startsWith(candidate, at));
  if (!operator) throw badRequest(`invalid selector: '${selector}'; can't understand '${term}'`);
  return {
    field: term.slice(0, at),
    operator: operator === "!=" ? "!=" : "=",
    value: unescapedValue(term.slice(at + operator.length)),
  };
}

function unescapedValue(text: string): string {
  let out = "";
  for (let i = 0; i < text.length; i++) {
    const char = text[i]!;
    if (char === "=" || char === ",")
      throw badRequest(`invalid field selector: unescaped character in value: ${char.charCodeAt(0)}`);
    if (char !== "\\") out += char;
    else {
      const escaped = text[++i] ?? "";
      if (escaped === "" || !"\\,=".includes(escaped))
        throw badRequest(`invalid field selector: invalid escape sequence: \\${escaped}`);
      out += escaped;
    }
  }
  return out;
}

function badRequest(message: string): KubeletError {
  return new KubeletError("BadRequest", message);
}
