import { isObject } from "../../lib/base/json-value.ts";
import type { Problem } from "../../lib/model/validation/problem.ts";
import { type Field, type FieldType, type StructType, underlying } from "../../lib/schema/field-type.ts";
import { scalar } from "../../lib/schema/notation.ts";
import { kindType } from "../../lib/schema/packages.ts";
import { goName, valueName } from "./go-names.ts";
import { checkScalar } from "./scalar-check.ts";

export interface FieldCheck {
  /** Paths of fields that the kind does not have ("spec.containers[0].foo"), in the order of the object. */
  readonly unknown: string[];
  /** Decoding errors; the first is the one that Kubernetes reports. */
  readonly problems: Problem[];
}

/** Further unknown fields are not reported. */
const maxUnknown = 100;

/** Checks an object against the fields of its kind. A kind that is not in the tables is not checked. */
export function checkFields(group: string, version: string, kind: string, value: unknown): FieldCheck {
  const type = kindType(group, version, kind);
  const walk = new FieldWalk();
  if (type) walk.value(type, value, { path: "", fields: [] });
  const { fatal, problems } = walk;
  return { unknown: [...walk.unknown], problems: fatal ? [fatal, ...problems] : problems };
}

/** The position of a value: its path for unknown fields, and its Go struct fields for decoding errors (without list indexes and map keys). */
interface Position {
  readonly path: string;
  readonly struct?: string;
  readonly fields: readonly string[];
}

class FieldWalk {
  readonly unknown = new Set<string>();
  readonly problems: Problem[] = [];
  /** The error at which decoding stops. */
  fatal: Problem | undefined;

  value(type: FieldType, value: unknown, position: Position): void {
    if (value === null || value === undefined || this.fatal) return;
    const under = underlying(type);
    switch (under.kind) {
      case "scalar":
        return this.#scalar(type, value, position);
      case "list":
        if (!Array.isArray(value)) return this.#wrongType(type, value, position);
        for (const [index, item] of value.entries())
          this.value(under.items, item, { ...position, path: `${position.path}[${index}]` });
        return;
      case "map":
        if (!isObject(value)) return this.#wrongType(type, value, position);
        for (const [key, item] of Object.entries(value))
          this.value(under.values, item, { ...position, path: joined(position.path, key) });
        return;
      case "struct":
        if (!isObject(value)) return this.#wrongType(type, value, position);
        return this.#struct(under, value, position);
      default:
        return under satisfies never;
    }
  }

  #struct(type: StructType, value: Record<string, unknown>, position: Position): void {
    for (const [name, item] of Object.entries(value)) {
      const path = joined(position.path, name);
      const field = type.fields.get(name);
      if (field) this.value(field.type, item, { path, ...withField(position, type.name, field) });
      else if (this.unknown.size < maxUnknown) this.unknown.add(path);
    }
  }

  #scalar(type: FieldType, value: unknown, position: Position): void {
    const under = underlying(type);
    if (under.kind !== "scalar") return;
    const error = checkScalar(under.scalar, value);
    if (!error) return;
    const message =
      error.kind === "text"
        ? error.message
        : mismatch(error.expected === under.scalar ? type : scalar(error.expected), value, position);
    const problem = { path: position.path, message };
    if (error.isFatal) this.fatal = problem;
    else this.problems.push(problem);
  }

  #wrongType(type: FieldType, value: unknown, position: Position): void {
    this.problems.push({ path: position.path, message: mismatch(type, value, position) });
  }
}

function withField(position: Position, typeName: string, field: Field): Pick<Position, "struct" | "fields"> {
  const embedded = field.embeddedIn === undefined ? [] : [field.embeddedIn];
  return { struct: typeName.split(".")[1]!, fields: [...position.fields, ...embedded, field.name] };
}

function mismatch(type: FieldType, value: unknown, position: Position): string {
  const into =
    position.struct === undefined
      ? "Go value"
      : `Go struct field ${position.struct}.${position.fields.join(".")}`;
  return `json: cannot unmarshal ${valueName(value, type)} into ${into} of type ${goName(type)}`;
}

function joined(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`;
}
