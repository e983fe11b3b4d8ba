import { KubeletError } from "../base/errors.ts";
import {
  type FieldType,
  type Member,
  type Scalar,
  type StructType,
  scalars,
  underlying,
} from "./field-type.ts";

/**
 * The notation of the tables in `types/`: a paragraph for each type, a line for each field.
 *
 *     kind Pod                          a struct; with `kind`, it has apiVersion and kind, too
 *     OwnerReference atomic             one field manager for all its fields
 *     PullPolicy = string Always | …    a named type, and its values
 *
 * A line is the number in protobuf, the name (with ! if it is required), the type and attributes. A type is a
 * scalar, a type of the same package, `package.Type`, `[]T` or `map[string]T`; `*T` may be absent, so that empty values of it
 * are written.
 *
 *     set, by:name, by:port+protocol    the list type: set, or map with these keys (default: atomic)
 *     merge, merge:ip                   merged by strategic merge patches: by the first key of the list, or this one
 *     retainKeys                        such patches list the keys to keep
 *     atomic, granular                  ownership of the fields of an object
 *     =TCP                              the default
 *     kept                              JSON has it even if it is empty (no omitempty)
 *
 * `1 ...Name` is an embedded struct: a separate message, whose fields are inlined in JSON.
 */
export type ParsedType =
  | { readonly kind: "struct"; readonly isKind: boolean; readonly atomic: boolean; readonly lines: string[] }
  | { readonly kind: "alias"; readonly base: string; readonly values: readonly string[] };

/** The type that a name in the notation stands for. */
export type TypeNamed = (name: string) => FieldType | undefined;

const headForm = /^(kind )?(\w+)( atomic)?$/;
const aliasForm = /^(\w+) = (\S+)(?: (.*))?$/s;
const memberForm = /^ +(\d+) (?:\.\.\.(\w+)|(\w+)(!)? (\*)?(\S+)(?: (.+))?)$/;

/** The paragraphs of a text by the names of the types. */
export function splitTypes(text: string): Map<string, string> {
  return new Map(
    text
      .trim()
      .split(/\n+(?=\S)/)
      .map((paragraph) => [/^(?:kind )?(\w*)/.exec(paragraph)![1]!, paragraph]),
  );
}

export function parseType(paragraph: string): ParsedType {
  const alias = aliasForm.exec(paragraph);
  if (alias) {
    const values = alias[3]?.split("|").map((value) => value.replace(/\s+/g, " ").trim()) ?? [];
    return { kind: "alias", base: alias[2]!, values };
  }
  const [first = "", ...lines] = paragraph.split("\n");
  const head = headForm.exec(first);
  if (!head) throw malformed(first);
  return { kind: "struct", isKind: !!head[1], atomic: !!head[3], lines };
}

export function parseMember(line: string, typeNamed: TypeNamed): Member {
  const found = memberForm.exec(line);
  if (!found) throw malformed(line);
  const [, number, embedded, name, required, pointer, type, attributes] = found;
  if (embedded !== undefined)
    return {
      kind: "embedded",
      name: embedded,
      number: Number(number),
      struct: structNamed(embedded, typeNamed),
    };
  return {
    kind: "field",
    name: name!,
    number: Number(number),
    type: typeOf(type!, typeNamed),
    required: required !== undefined,
    pointer: pointer !== undefined,
    ...parseAttributes(attributes?.split(" ") ?? []),
  };
}

function parseAttributes(attributes: readonly string[]) {
  const by = attributes.find((attribute) => attribute.startsWith("by:"));
  const keys = by?.slice("by:".length).split("+") ?? [];
  const merge = attributes.find((attribute) => /^merge(:|$)/.test(attribute));
  const given = attributes.find((attribute) => attribute.startsWith("="));
  return {
    kept: attributes.includes("kept"),
    list: by ? ("map" as const) : attributes.includes("set") ? ("set" as const) : ("atomic" as const),
    keys,
    retainKeys: attributes.includes("retainKeys"),
    ...(merge !== undefined && { mergeKey: merge.split(":")[1] ?? keys[0] ?? "" }),
    ...(attributes.includes("atomic") && { map: "atomic" as const }),
    ...(attributes.includes("granular") && { map: "granular" as const }),
    ...(given !== undefined && { default: given.slice(1) }),
  };
}

/** `[]core.Toleration`, `map[string]quantity`. */
export function typeOf(text: string, typeNamed: TypeNamed): FieldType {
  if (text.startsWith("[]")) return { kind: "list", items: typeOf(text.slice("[]".length), typeNamed) };
  const map = "map[string]";
  if (text.startsWith(map)) return { kind: "map", values: typeOf(text.slice(map.length), typeNamed) };
  const known = scalars.find((name) => name === text);
  const named = known ? scalar(known) : typeNamed(text);
  if (!named) throw malformed(text);
  return named;
}

export function scalar(name: Scalar): FieldType {
  return { kind: "scalar", scalar: name };
}

function structNamed(name: string, typeNamed: TypeNamed): StructType {
  const type = underlying(typeOf(name, typeNamed));
  if (type.kind !== "struct") throw malformed(name);
  return type;
}

function malformed(text: string): KubeletError {
  return new KubeletError("TypeTable", `Not in the notation of type tables: ${text}`);
}
