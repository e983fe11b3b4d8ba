import type { Milliseconds } from "./duration.ts";

/** The type of a value. Decoding, defaults, encoding, tests and the TypeScript types all follow from these tables. */
export type Kind =
  | { readonly kind: "bool" }
  | { readonly kind: "int"; readonly size: IntSize }
  | { readonly kind: "float" }
  | { readonly kind: "string"; readonly oneOf?: readonly string[] }
  | { readonly kind: "duration"; readonly orNanoseconds?: boolean }
  | { readonly kind: "quantity" }
  | { readonly kind: "list"; readonly of: Kind }
  | { readonly kind: "map"; readonly of: Kind }
  | { readonly kind: "object"; readonly fields: Fields };

export type IntSize = "int32" | "int64" | "uint32";

/**
 * plain: a zero value is the same as none and is omitted when written.
 * kept: a zero value is the same as none but is written.
 * nullable: zero is a value of its own; omitted only when it was never set.
 */
export type Presence = "plain" | "kept" | "nullable";

export interface Field<K extends Kind = Kind, P extends Presence = Presence, D = unknown> {
  readonly type: K;
  readonly presence: P;
  readonly default: D;
}

export type Fields = { readonly [name: string]: Field };

export type ValueOf<K> = K extends { kind: "bool" }
  ? boolean
  : K extends { kind: "int" | "float" }
    ? number
    : K extends { kind: "duration" }
      ? Milliseconds
      : K extends { kind: "string"; oneOf: readonly (infer V)[] }
        ? V
        : K extends { kind: "string" | "quantity" }
          ? string
          : K extends { kind: "list"; of: infer E }
            ? ValueOf<E>[]
            : K extends { kind: "map"; of: infer E }
              ? Record<string, ValueOf<E>>
              : K extends { kind: "object"; fields: infer F }
                ? ObjectOf<F>
                : never;

type OptionalNames<F> = {
  [N in keyof F]: F[N] extends Field<Kind, "nullable", undefined> ? N : never;
}[keyof F];

/** An object with its defaults filled in: only nullable fields without a default may be missing. */
export type ObjectOf<F> = {
  [N in Exclude<keyof F, OptionalNames<F>>]: F[N] extends Field<infer K> ? ValueOf<K> : never;
} & { [N in OptionalNames<F>]?: F[N] extends Field<infer K> ? ValueOf<K> : never };

/** The type of a value without defaults: all of its fields are optional, at any depth. */
export type Partially<T> = T extends readonly unknown[]
  ? T
  : T extends object
    ? string extends keyof T
      ? T
      : { [N in keyof T]?: Partially<T[N]> }
    : T;

export const bool = { kind: "bool" } as const;
export const int32 = { kind: "int", size: "int32" } as const;
export const int64 = { kind: "int", size: "int64" } as const;
export const uint32 = { kind: "int", size: "uint32" } as const;
export const float = { kind: "float" } as const;
export const string = { kind: "string" } as const;
export const duration = { kind: "duration" } as const;
export const durationOrNanoseconds = { kind: "duration", orNanoseconds: true } as const;
export const quantity = { kind: "quantity" } as const;

export function oneOf<const V extends readonly string[]>(...values: V) {
  return { kind: "string", oneOf: values } as const;
}
export function list<const K extends Kind>(of: K) {
  return { kind: "list", of } as const;
}
export function map<const K extends Kind>(of: K) {
  return { kind: "map", of } as const;
}
export function object<const F extends Fields>(fields: F) {
  return { kind: "object", fields } as const;
}

type Default = boolean | number | string | string[];

export function plain<const K extends Kind>(type: K): Field<K, "plain", undefined>;
export function plain<const K extends Kind>(type: K, fallback: Default): Field<K, "plain", Default>;
export function plain(type: Kind, fallback?: Default): Field {
  return { type, presence: "plain", default: fallback };
}

export function kept<const K extends Kind>(type: K): Field<K, "kept", undefined>;
export function kept<const K extends Kind>(type: K, fallback: Default): Field<K, "kept", Default>;
export function kept(type: Kind, fallback?: Default): Field {
  return { type, presence: "kept", default: fallback };
}

export function nullable<const K extends Kind>(type: K): Field<K, "nullable", undefined>;
export function nullable<const K extends Kind>(type: K, fallback: Default): Field<K, "nullable", Default>;
export function nullable(type: Kind, fallback?: Default): Field {
  return { type, presence: "nullable", default: fallback };
}
