import { KubeletError } from "../base/errors.ts";
import type { AliasType, Field, FieldType, Member, StructType } from "./field-type.ts";
import {
  type ParsedType,
  parseMember,
  parseType,
  scalar,
  splitTypes,
  type TypeNamed,
  typeOf,
} from "./notation.ts";

export interface PackageOptions {
  /** Its name in tables: "core". */
  readonly name: string;
  readonly group: string;
  readonly version: string;
  /** The prefix of its schema names; derived from group and version unless set. */
  readonly schemaPrefix?: string;
  /** The packages that its types refer to. */
  readonly uses?: readonly TypePackage[];
  /** Its types, in the notation of `notation.ts`. */
  readonly text: string;
}

const uid: FieldType = { kind: "alias", name: "types.UID", base: scalar("string"), values: [] };

/**
 * The types of one group and version. Tables are parsed when one of their types is first looked up, types one by one when
 * their fields are used: most are never needed.
 */
export class TypePackage {
  readonly name: string;
  readonly group: string;
  readonly version: string;
  readonly schemaPrefix: string;
  readonly text: string;
  readonly #uses: ReadonlyMap<string, TypePackage>;
  readonly #types = new Map<string, StructType | AliasType>();
  #paragraphs: ReadonlyMap<string, string> | undefined;

  constructor({ name, group, version, schemaPrefix, uses = [], text }: PackageOptions) {
    this.name = name;
    this.group = group;
    this.version = version;
    this.schemaPrefix =
      schemaPrefix ?? `io.k8s.api.${group === "" ? "core" : group.split(".")[0]}.${version}`;
    this.text = text;
    this.#uses = new Map(uses.map((one) => [one.name, one]));
  }

  get structs(): StructType[] {
    this.#paragraphs ??= splitTypes(this.text);
    return [...this.#paragraphs.keys()].flatMap((name) => this.struct(name) ?? []);
  }

  /** A struct by its name without the package: "Pod". */
  struct(name: string): StructType | undefined {
    const type = this.type(name);
    return type?.kind === "struct" ? type : undefined;
  }

  /** The values of an enumeration: "PullPolicy". */
  values(name: string): readonly string[] {
    const type = this.type(name);
    if (type?.kind !== "alias") throw new KubeletError("TypeTable", `No enumeration ${this.name}.${name}`);
    return type.values;
  }

  /** A type by its name without the package. */
  type(name: string): StructType | AliasType | undefined {
    const known = this.#types.get(name);
    if (known) return known;
    this.#paragraphs ??= splitTypes(this.text);
    const paragraph = this.#paragraphs.get(name);
    if (paragraph === undefined) return undefined;
    const type = this.#build(`${this.name}.${name}`, parseType(paragraph));
    this.#types.set(name, type);
    return type;
  }

  #build(name: string, parsed: ParsedType): StructType | AliasType {
    if (parsed.kind === "struct") return new TableStruct(name, parsed, this.#typeNamed);
    return { kind: "alias", name, base: typeOf(parsed.base, this.#typeNamed), values: parsed.values };
  }

  readonly #typeNamed: TypeNamed = (text) => {
    if (text === "types.UID") return uid;
    const [first = "", other] = text.split(".");
    return other === undefined ? this.type(first) : this.#uses.get(first)?.type(other);
  };
}

class TableStruct implements StructType {
  readonly kind = "struct";
  readonly name: string;
  readonly isKind: boolean;
  readonly atomic: boolean;
  readonly #lines: readonly string[];
  readonly #typeNamed: TypeNamed;
  #members: ReadonlyMap<number, Member> | undefined;
  #fields: ReadonlyMap<string, Field> | undefined;

  constructor(name: string, parsed: ParsedType & { kind: "struct" }, typeNamed: TypeNamed) {
    this.name = name;
    this.isKind = parsed.isKind;
    this.atomic = parsed.atomic;
    this.#lines = parsed.lines;
    this.#typeNamed = typeNamed;
  }

  get members(): ReadonlyMap<number, Member> {
    this.#members ??= new Map(
      this.#lines.map((line) => parseMember(line, this.#typeNamed)).map((member) => [member.number, member]),
    );
    return this.#members;
  }

  get fields(): ReadonlyMap<string, Field> {
    this.#fields ??= new Map(
      [...(this.isKind ? typeMeta : []), ...[...this.members.values()].flatMap(fieldsOf)].map((field) => [
        field.name,
        field,
      ]),
    );
    return this.#fields;
  }
}

function fieldsOf(member: Member): Field[] {
  if (member.kind === "field") return [member];
  return [...member.struct.fields.values()].map((field) => ({ ...field, embeddedIn: member.name }));
}

/** The protobuf message lacks these fields: its envelope has them. */
const typeMeta: readonly Field[] = ["apiVersion", "kind"].map((name) => ({
  kind: "field",
  name,
  number: 0,
  type: scalar("string"),
  required: false,
  pointer: false,
  kept: false,
  list: "atomic",
  keys: [],
  retainKeys: false,
  embeddedIn: "TypeMeta",
}));
