/** The type of a field. */
export type FieldType =
  | { readonly kind: "scalar"; readonly scalar: Scalar }
  | StructType
  | { readonly kind: "list"; readonly items: FieldType }
  | { readonly kind: "map"; readonly values: FieldType }
  | AliasType;

/** A named type, with its values if it is an enumeration. */
export interface AliasType {
  readonly kind: "alias";
  /** With its package: "core.PullPolicy". */
  readonly name: string;
  readonly base: FieldType;
  readonly values: readonly string[];
}

/** `any`: arbitrary JSON. */
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

/** The list type of server-side apply: atomic, set, map by keys. */
export type ListType = "atomic" | "set" | "map";

export interface Field {
  readonly kind: "field";
  readonly name: string;
  /** In protobuf. */
  readonly number: number;
  readonly type: FieldType;
  readonly required: boolean;
  /** A pointer: an empty value differs from an absent one. */
  readonly pointer: boolean;
  /** No omitempty: JSON contains it even if it is empty, like every required field. */
  readonly kept: boolean;
  readonly list: ListType;
  readonly keys: readonly string[];
  /** A strategic merge patch merges this list: by this key, or by value (""). */
  readonly mergeKey?: string;
  readonly retainKeys: boolean;
  readonly map?: "atomic" | "granular";
  /** The default. */
  readonly default?: string;
  /** The embedded struct that contains the field: decoding errors report it. */
  readonly embeddedIn?: string;
}

/** A separate message in protobuf, whose fields are inlined in JSON. */
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
  /** Atomic in server-side apply. */
  readonly atomic: boolean;
  /** The protobuf fields, by ascending number. */
  readonly members: ReadonlyMap<number, Member>;
  /** The JSON fields, by name, including fields of embedded structs. */
  readonly fields: ReadonlyMap<string, Field>;
}

/** Resolves aliases. */
export function underlying(type: FieldType): Exclude<FieldType, AliasType> {
  return type.kind === "alias" ? underlying(type.base) : type;
}
