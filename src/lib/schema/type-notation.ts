import { KubeletError } from "../base/errors.ts";
import { type Field, type FieldType, type Scalar, type StructType, scalars } from "./field-type.ts";

/**
 * The notation of the tables in `types/`: a paragraph for each type, indented where it goes on.
 *
 *     kind Pod: spec PodSpec, …         a struct; with `kind`, it has apiVersion and kind, too
 *     OwnerReference atomic: …          its fields have one owner
 *     PullPolicy = string Always | …    another name for a type, and its values
 *
 * A field is its name (with ! if it must be given), its type (a scalar, a type of the same package, `package.Type`,
 * `[]T`, `map T`) and what else there is to know:
 *
 *     set, by:name, by:port+protocol    a list whose entries are told apart (the others are atomic)
 *     merge, merge:ip                   merged by strategic merge patches: by the first key of the list, or this one
 *     retainKeys                        clients say in such patches which keys they want to keep
 *     atomic, granular                  who owns the inside of an object
 *     =TCP                              what it stands for if left out
 *
 * The fields after `...Name` come from an embedded struct.
 */
export interface TypeTexts {
  /** By name, without the package: what follows it. */
  readonly structs: ReadonlyMap<string, StructText>;
  readonly aliases: ReadonlyMap<string, string>;
}

export interface StructText {
  readonly isKind: boolean;
  readonly atomic: boolean;
  readonly fields: string;
}

/** Names to other names, resolved by the table. */
export interface Names {
  /** The type that a name in the notation stands for. */
  typeNamed(name: string): FieldType | undefined;
}

const structHead = /^(kind )?(\w+)( atomic)?: (.*)$/s;
const aliasHead = /^(\w+) = (.*)$/s;

export function splitTypes(text: string): TypeTexts {
  const structs = new Map<string, StructText>();
  const aliases = new Map<string, string>();
  for (const paragraph of text.trim().split(/\n(?=\S)/)) {
    const alias = aliasHead.exec(paragraph);
    if (alias) aliases.set(alias[1]!, alias[2]!);
    else {
      const struct = structHead.exec(paragraph);
      if (!struct) throw malformed(paragraph);
      structs.set(struct[2]!, { isKind: !!struct[1], atomic: !!struct[3], fields: struct[4]! });
    }
  }
  return { structs, aliases };
}

export function parseStruct(name: string, text: StructText, names: Names): StructType {
  const fields = new Map<string, Field>();
  if (text.isKind)
    for (const field of ["apiVersion", "kind"])
      fields.set(field, { ...plainField(field, scalar("string")), embeddedIn: "TypeMeta" });
  let embeddedIn: string | undefined;
  for (const part of text.fields.split(",")) {
    const words = part.trim().split(/\s+/);
    if (words[0]!.startsWith("...")) embeddedIn = words[0]!.slice(3);
    else {
      const field = parseField(words, names);
      fields.set(field.name, embeddedIn === undefined ? field : { ...field, embeddedIn });
    }
  }
  return { name, isKind: text.isKind, atomic: text.atomic, fields };
}

export function parseAlias(name: string, text: string, names: Names): FieldType {
  const [, base, values] = /^((?:map )?\S+)(?:\s+(.*))?$/s.exec(text)!;
  return {
    kind: "alias",
    name,
    base: parseType(base!, names),
    values: values === undefined ? [] : values.split("|").map((value) => value.trim()),
  };
}

function parseField(words: string[], names: Names): Field {
  const [marked = "", ...rest] = words;
  const isMap = rest[0] === "map";
  const type = parseType(isMap ? `map ${rest[1]}` : (rest[0] ?? ""), names);
  const notes = rest.slice(isMap ? 2 : 1);
  const by = notes.find((note) => note.startsWith("by:"));
  const keys = by?.slice(3).split("+") ?? [];
  const merge = notes.find((note) => /^merge(:|$)/.test(note));
  const given = notes.find((note) => note.startsWith("="));
  return {
    ...plainField(marked.replace("!", ""), type),
    required: marked.endsWith("!"),
    list: by ? "map" : notes.includes("set") ? "set" : "atomic",
    keys,
    retainKeys: notes.includes("retainKeys"),
    ...(merge && { mergeKey: merge.split(":")[1] ?? keys[0] ?? "" }),
    ...(notes.includes("atomic") && { map: "atomic" }),
    ...(notes.includes("granular") && { map: "granular" }),
    ...(given !== undefined && { default: given.slice(1) }),
  };
}

export function plainField(name: string, type: FieldType): Field {
  return { name, type, required: false, list: "atomic", keys: [], retainKeys: false };
}

export function scalar(name: Scalar): FieldType {
  return { kind: "scalar", scalar: name };
}

function parseType(text: string, names: Names): FieldType {
  if (text.startsWith("[]")) return { kind: "list", items: parseType(text.slice(2), names) };
  if (text.startsWith("map ")) return { kind: "map", values: parseType(text.slice(4), names) };
  const known = scalars.find((name) => name === text);
  if (known) return scalar(known);
  const named = names.typeNamed(text);
  if (!named) throw malformed(text);
  return named;
}

function malformed(text: string): KubeletError {
  return new KubeletError("TypeTable", `no such type: ${text}`);
}
