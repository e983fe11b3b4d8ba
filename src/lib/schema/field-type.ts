/** What a field may hold. */
export type FieldType =
  | { readonly kind: "scalar"; readonly scalar: Scalar }
  | StructType
  | { readonly kind: "list"; readonly items: FieldType }
  | { readonly kind: "map"; readonly values: FieldType }
  | AliasType;

/** Another name for a type, with the values it knows if they are few. */
export interface AliasType {
  readonly kind: "alias";
  /** With its package: "core.PullPolicy". */
  readonly name: string;
  readonly base: FieldType;
  readonly values: readonly string[];
}

/** `any`: whatever JSON; nothing is known of its inside. */
export const scalars = [
  "any",
  "bool",
  "bytes",
  "float64",
  "int-or-string",
  "int32",
  "int64",
  "microtime",
  "quantity",
  "string",
  "time",
] as const;

export type Scalar = (typeof scalars)[number];

/** How the entries of a list are distinguished: not at all, by themselves, by keys. */
export type ListType = "atomic" | "set" | "map";

export interface Field {
  readonly kind: "field";
  readonly name: string;
  /** In protobuf. */
  readonly number: number;
  readonly type: FieldType;
  readonly required: boolean;
  /** May be absent, so that an empty value that is sent means something. */
  readonly pointer: boolean;
  /** JSON has it even if it is empty (as it has all fields that are required). */
  readonly kept: boolean;
  readonly list: ListType;
  readonly keys: readonly string[];
  /** A strategic merge patch merges this list: by this key, or values by themselves (""). */
  readonly mergeKey?: string;
  readonly retainKeys: boolean;
  readonly map?: "atomic" | "granular";
  /** What the field stands for if it is left out. */
  readonly default?: string;
  /** The embedded struct that brings the field: decoding errors report it. */
  readonly embeddedIn?: string;
}

/** A message of its own in protobuf, whose fields stand beside the others in JSON. */
export interface EmbeddedStruct {
  readonly kind: "embedded";
  readonly name: string;
  readonly number: number;
  readonly struct: StructType;
}

export type Member = Field | EmbeddedStruct;

export interface StructType {
  readonly kind: "struct";
  /** With its package: "core.Container". */
  readonly name: string;
  /** Has apiVersion and kind. */
  readonly isKind: boolean;
  /** One value to its owners. */
  readonly atomic: boolean;
  /** What its message in protobuf is made of, by number, in ascending order. */
  readonly members: ReadonlyMap<number, Member>;
  /** What its object in JSON is made of, by name; with the fields of embedded structs. */
  readonly fields: ReadonlyMap<string, Field>;
}

/** The type itself, whatever its name. */
export function underlying(type: FieldType): Exclude<FieldType, AliasType> {
  return type.kind === "alias" ? underlying(type.base) : type;
}
