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
  /** What does not decode; the first is the one that Kubernetes would tell. */
  readonly problems: Problem[];
}

/** More are not reported. */
const mostUnknown = 100;

/** Compares an object with the fields of its kind. Nothing is known, and so nothing wrong, of a kind that is not in the tables. */
export function checkFields(group: string, version: string, kind: string, value: unknown): FieldCheck {
  const type = kindType(group, version, kind);
  const walk = new FieldWalk();
  if (type) walk.value(type, value, { path: "", fields: [] });
  const { ending, problems } = walk;
  return { unknown: [...walk.unknown], problems: ending ? [ending, ...problems] : problems };
}

/** Where a value is: as paths of unknown fields are told, and as decoding errors are (without places in lists and maps). */
interface Place {
  readonly path: string;
  readonly struct?: string;
  readonly fields: readonly string[];
}

class FieldWalk {
  readonly unknown = new Set<string>();
  readonly problems: Problem[] = [];
  /** Decoding ends here. */
  ending: Problem | undefined;

  value(type: FieldType, value: unknown, place: Place): void {
    if (value === null || value === undefined || this.ending) return;
    const under = underlying(type);
    switch (under.kind) {
      case "scalar":
        return this.#scalar(type, value, place);
      case "list":
        if (!Array.isArray(value)) return this.#wrongType(type, value, place);
        for (const [index, item] of value.entries())
          this.value(under.items, item, { ...place, path: `${place.path}[${index}]` });
        return;
      case "map":
        if (!isObject(value)) return this.#wrongType(type, value, place);
        for (const [key, item] of Object.entries(value))
          this.value(under.values, item, { ...place, path: joined(place.path, key) });
        return;
      case "struct":
        if (!isObject(value)) return this.#wrongType(type, value, place);
        return this.#struct(under, value, place);
      default:
        return under satisfies never;
    }
  }

  #struct(type: StructType, value: Record<string, unknown>, place: Place): void {
    for (const [name, item] of Object.entries(value)) {
      const path = joined(place.path, name);
      const field = type.fields.get(name);
      if (field) this.value(field.type, item, { path, ...withField(place, type.name, field) });
      else if (this.unknown.size < mostUnknown) this.unknown.add(path);
    }
  }

  #scalar(type: FieldType, value: unknown, place: Place): void {
    const under = underlying(type);
    if (under.kind !== "scalar") return;
    const complaint = checkScalar(under.scalar, value);
    if (!complaint) return;
    const message =
      complaint.kind === "text"
        ? complaint.message
        : mismatch(complaint.wanted === under.scalar ? type : scalar(complaint.wanted), value, place);
    const problem = { path: place.path, message };
    if (complaint.ends) this.ending = problem;
    else this.problems.push(problem);
  }

  #wrongType(type: FieldType, value: unknown, place: Place): void {
    this.problems.push({ path: place.path, message: mismatch(type, value, place) });
  }
}

function withField(place: Place, typeName: string, field: Field): Pick<Place, "struct" | "fields"> {
  const embedded = field.embeddedIn === undefined ? [] : [field.embeddedIn];
  return { struct: typeName.split(".")[1]!, fields: [...place.fields, ...embedded, field.name] };
}

function mismatch(type: FieldType, value: unknown, place: Place): string {
  const into =
    place.struct === undefined ? "Go value" : `Go struct field ${place.struct}.${place.fields.join(".")}`;
  return `json: cannot unmarshal ${valueName(value, type)} into ${into} of type ${goName(type)}`;
}

function joined(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`;
}
