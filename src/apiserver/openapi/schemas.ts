import {
  type Field,
  type FieldType,
  type Scalar,
  type StructType,
  underlying,
} from "../../lib/schema/field-type.ts";
import { kindType, packageOf } from "../../lib/schema/packages.ts";
import { meta } from "../../lib/schema/types/meta.ts";
import type { GroupVersionKind } from "../definition.ts";
import { describedField, describedType } from "./descriptions.ts";

/** The two versions differ in the path of references and in what is allowed next to them. */
export type Dialect = "v2" | "v3";

export type JsonSchema = Readonly<Record<string, unknown>>;

const refPrefixes: Readonly<Record<Dialect, string>> = { v2: "#/definitions/", v3: "#/components/schemas/" };
const metaPrefix = "io.k8s.apimachinery.pkg.apis.meta.v1";

/** Scalars with a named schema. */
const namedScalars: Readonly<Partial<Record<Scalar, string>>> = {
  "int-or-string": "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
  microtime: `${metaPrefix}.MicroTime`,
  quantity: "io.k8s.apimachinery.pkg.api.resource.Quantity",
  time: `${metaPrefix}.Time`,
};
const scalarSchemas: Readonly<Record<Scalar, JsonSchema>> = {
  any: { type: "object" },
  bool: { type: "boolean" },
  bytes: { type: "string", format: "byte" },
  float64: { type: "number", format: "double" },
  "int-or-string": { type: "string", format: "int-or-string" },
  int32: { type: "integer", format: "int32" },
  int64: { type: "integer", format: "int64" },
  microtime: { type: "string", format: "date-time" },
  quantity: { type: "string" },
  string: { type: "string" },
  time: { type: "string", format: "date-time" },
};
const unionSchemas: Readonly<Partial<Record<Scalar, JsonSchema>>> = {
  "int-or-string": { format: "int-or-string", oneOf: [{ type: "integer" }, { type: "string" }] },
  quantity: { oneOf: [{ type: "string" }, { type: "number" }] },
};
const patchSchema: JsonSchema = {
  type: "object",
  description: "A patch, in one of the supported patch types.",
};

/** Collects referenced schemas, transitively. */
export class Schemas {
  readonly #dialect: Dialect;
  readonly #found = new Map<string, JsonSchema>();
  readonly #kinds: ReadonlyMap<string, readonly GroupVersionKind[]>;

  /** `kinds`: the kinds of each struct type. */
  constructor(dialect: Dialect, kinds: ReadonlyMap<string, readonly GroupVersionKind[]>) {
    this.#dialect = dialect;
    this.#kinds = kinds;
  }

  get found(): Record<string, JsonSchema> {
    return Object.fromEntries([...this.#found].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  patch(): JsonSchema {
    return this.#reference(`${metaPrefix}.Patch`, () => patchSchema);
  }

  /** A reference to the schema of a kind, which is collected. An unknown kind is an object with metadata. */
  ofKind(kind: GroupVersionKind): JsonSchema {
    const type = kindType(kind.group, kind.version, kind.kind);
    if (type) return this.#struct(type);
    const item = kindType(kind.group, kind.version, kind.kind.replace(/List$/, ""));
    if (!item) return this.#struct(meta.struct("PartialObjectMetadata")!);
    return this.#reference(`${schemaName(item.name)}List`, () => this.#list(item, kind));
  }

  #struct(type: StructType): JsonSchema {
    return this.#reference(schemaName(type.name), () => {
      const fields = [...type.fields.values()].sort(publishedOrder);
      const required = fields.filter((field) => field.required).map(({ name }) => name);
      const kinds = this.#kinds.get(type.name) ?? [];
      return {
        ...description(describedType(type.name)),
        type: "object",
        properties: Object.fromEntries(fields.map((field) => [field.name, this.#field(type.name, field)])),
        ...(required.length > 0 && { required }),
        ...(kinds.length > 0 && { "x-kubernetes-group-version-kind": kinds }),
        ...(type.atomic && { "x-kubernetes-map-type": "atomic" }),
      };
    });
  }

  #list(itemType: StructType, kind: GroupVersionKind): JsonSchema {
    return {
      description: `A list of objects of kind ${kind.kind.replace(/List$/, "")}.`,
      type: "object",
      properties: {
        apiVersion: { ...description(describedField("", "apiVersion")), type: "string" },
        items: { description: "The objects.", type: "array", items: this.#struct(itemType) },
        kind: { ...description(describedField("", "kind")), type: "string" },
        metadata: this.#withDescription(this.#struct(meta.struct("ListMeta")!), "Metadata of the list."),
      },
      required: ["items"],
      "x-kubernetes-group-version-kind": [kind],
    };
  }

  #field(typeName: string, field: Field): JsonSchema {
    const merges = field.mergeKey !== undefined;
    const strategy = [...(merges ? ["merge"] : []), ...(field.retainKeys ? ["retainKeys"] : [])].join(",");
    return {
      ...this.#withDescription(this.#type(field.type), describedField(typeName, field.name)),
      ...(field.default !== undefined && { default: field.default }),
      ...(underlying(field.type).kind === "list" && { "x-kubernetes-list-type": field.list }),
      ...(field.keys.length > 0 && { "x-kubernetes-list-map-keys": field.keys }),
      ...(field.map && { "x-kubernetes-map-type": field.map }),
      ...(field.mergeKey && { "x-kubernetes-patch-merge-key": field.mergeKey }),
      ...(strategy !== "" && { "x-kubernetes-patch-strategy": strategy }),
    };
  }

  #type(type: FieldType): JsonSchema {
    switch (type.kind) {
      case "struct":
        return this.#struct(type);
      case "list":
        return { type: "array", items: this.#type(type.items) };
      case "map":
        return { type: "object", additionalProperties: this.#type(type.values) };
      case "alias": {
        const base = this.#type(type.base);
        return type.values.length > 0 ? { ...base, enum: type.values } : base;
      }
      case "scalar": {
        const name = namedScalars[type.scalar];
        const union = this.#dialect === "v3" ? unionSchemas[type.scalar] : undefined;
        const schema = union ?? scalarSchemas[type.scalar];
        return name === undefined ? schema : this.#reference(name, () => schema);
      }
      default:
        return type satisfies never;
    }
  }

  /** Adds a description. In v3 a reference cannot have siblings. */
  #withDescription(schema: JsonSchema, text: string | undefined): JsonSchema {
    const wrapped = this.#dialect === "v3" && "$ref" in schema ? { allOf: [schema] } : schema;
    return { ...description(text), ...wrapped };
  }

  #reference(name: string, schema: () => JsonSchema): JsonSchema {
    if (!this.#found.has(name)) {
      this.#found.set(name, {}); // Types may contain themselves.
      this.#found.set(name, schema());
    }
    return { $ref: refPrefixes[this.#dialect] + name };
  }
}

/** apiVersion and kind first, fields of embedded structs last. */
function publishedOrder(one: Field, other: Field): number {
  const rank = ({ embeddedIn }: Field) => (embeddedIn === undefined ? 1 : embeddedIn === "TypeMeta" ? 0 : 2);
  return rank(one) - rank(other) || (one.name < other.name ? -1 : 1);
}

function schemaName(typeName: string): string {
  return `${packageOf(typeName).schemaPrefix}.${typeName.split(".")[1]}`;
}

function description(text: string | undefined): { description?: string } {
  return text === undefined ? {} : { description: text };
}
