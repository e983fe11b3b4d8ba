/** What a field may hold. */
export type FieldType =
  | { readonly kind: "scalar"; readonly scalar: Scalar }
  | { readonly kind: "struct"; readonly type: string }
  | { readonly kind: "list"; readonly items: FieldType }
  | { readonly kind: "map"; readonly values: FieldType }
  /** Another name for a type, with the values it knows if they are few. */
  | {
      readonly kind: "alias";
      readonly name: string;
      readonly base: FieldType;
      readonly values: readonly string[];
    };

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

/** How the entries of a list are told apart: not at all, by themselves, by keys. */
export type ListType = "atomic" | "set" | "map";

export interface Field {
  readonly name: string;
  readonly type: FieldType;
  readonly required: boolean;
  readonly list: ListType;
  readonly keys: readonly string[];
  /** A strategic merge patch merges this list: by this key, or values by themselves (""). */
  readonly mergeKey?: string;
  readonly retainKeys: boolean;
  readonly map?: "atomic" | "granular";
  /** What the field stands for if it is left out. */
  readonly default?: string;
  /** The embedded struct that brings the field: error messages tell it. */
  readonly embeddedIn?: string;
}

export interface StructType {
  /** With its package: "core.Container". */
  readonly name: string;
  /** Has apiVersion and kind. */
  readonly isKind: boolean;
  /** One value to its owners. */
  readonly atomic: boolean;
  readonly fields: ReadonlyMap<string, Field>;
}

/** The type itself, whatever its name. */
export function underlying(type: FieldType): Exclude<FieldType, { kind: "alias" }> {
  return type.kind === "alias" ? underlying(type.base) : type;
}
