import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";

/** An OpenAPI 2 document in protobuf, the only encoding that kubectl and client-go read. Covers what `document-v2.ts` contains. */
export function encodeSwagger(document: object): Uint8Array {
  const writer = new BinaryWriter();
  writeMessage(writer, "Document", document as Values);
  return writer.finish();
}

type Values = Readonly<Record<string, unknown>>;

/**
 * How a field of the JSON document is encoded:
 * - string, bool: as a field of that type; a list is a repeated field
 * - yaml: as YAML text in a message
 * - message: as a nested message; a list is a repeated field
 * - wrapped: as a message in field 1 of a wrapper message
 * - named: an object as a list of key and message pairs
 */
type Form =
  | { readonly encoding: "string" | "bool" | "yaml" }
  | { readonly encoding: "message" | "wrapped" | "named"; readonly message: MessageName };
type FieldRow = readonly [number: number, field: Form];

const text: Form = { encoding: "string" };
const bool: Form = { encoding: "bool" };
const yaml: Form = { encoding: "yaml" };
const message = (name: MessageName): Form => ({ encoding: "message", message: name });
const wrapped = (name: MessageName): Form => ({ encoding: "wrapped", message: name });
const named = (name: MessageName): Form => ({ encoding: "named", message: name });

type MessageName = keyof typeof numbers;

const simpleParameter = { required: 1, in: 2, description: 3, name: 4 } as const;

/** Field numbers; "x-" is the number of extensions. */
const numbers = {
  Document: { swagger: 1, info: 2, paths: 8, definitions: 9, parameters: 10 },
  Info: { title: 1, version: 2 },
  Paths: {},
  PathItem: { get: 2, put: 3, post: 4, delete: 5, patch: 8, parameters: 9 },
  Operation: { operationId: 5, produces: 6, consumes: 7, parameters: 8, responses: 9, "x-": 13 },
  Reference: { $ref: 1 },
  BodyParameter: { name: 2, in: 3, required: 4, schema: 5 },
  QueryParameter: { ...simpleParameter, type: 6, uniqueItems: 20 },
  PathParameter: { ...simpleParameter, type: 5 },
  Parameter: {},
  ParameterItem: {},
  Response: { description: 1, schema: 2 },
  ResponseItem: {},
  Strings: { value: 1 },
  Schema: {
    $ref: 1,
    format: 2,
    description: 4,
    default: 5,
    required: 19,
    enum: 20,
    additionalProperties: 21,
    type: 22,
    items: 23,
    properties: 25,
    "x-": 31,
  },
} as const;

const forms: Readonly<Record<string, Form>> = {
  "Document.info": message("Info"),
  "Document.paths": message("Paths"),
  "Document.definitions": named("Schema"),
  "Document.parameters": named("Parameter"),
  "PathItem.get": message("Operation"),
  "PathItem.put": message("Operation"),
  "PathItem.post": message("Operation"),
  "PathItem.delete": message("Operation"),
  "PathItem.patch": message("Operation"),
  "PathItem.parameters": message("ParameterItem"),
  "Operation.parameters": message("ParameterItem"),
  "Operation.responses": named("ResponseItem"),
  "BodyParameter.required": bool,
  "BodyParameter.schema": message("Schema"),
  "QueryParameter.required": bool,
  "QueryParameter.uniqueItems": bool,
  "PathParameter.required": bool,
  "Response.schema": wrapped("Schema"),
  "Schema.default": yaml,
  "Schema.enum": yaml,
  "Schema.additionalProperties": wrapped("Schema"),
  "Schema.type": message("Strings"),
  "Schema.items": wrapped("Schema"),
  "Schema.properties": named("Schema"),
};

function writeMessage(writer: BinaryWriter, name: MessageName, values: Values): void {
  switch (name) {
    // Messages with a oneof, or whose keys are not fields.
    case "Paths":
      for (const [path, item] of Object.entries(values))
        writeNamed(writer, 2, path, "PathItem", item as Values);
      return;
    case "ParameterItem":
      return "$ref" in values
        ? writeNested(writer, 2, () => writeMessage(writer, "Reference", values))
        : writeNested(writer, 1, () => writeMessage(writer, "Parameter", values));
    case "Parameter":
      if (values.in === "body")
        return writeNested(writer, 1, () => writeMessage(writer, "BodyParameter", values));
      return writeNested(writer, 2, () =>
        values.in === "query"
          ? writeNested(writer, 3, () => writeMessage(writer, "QueryParameter", values))
          : writeNested(writer, 4, () => writeMessage(writer, "PathParameter", values)),
      );
    case "ResponseItem":
      return writeNested(writer, 1, () => writeMessage(writer, "Response", values));
    default:
      for (const [key, value] of Object.entries(values)) {
        const row = fieldRow(name, key);
        if (!row) continue;
        if (key.startsWith("x-"))
          writeNested(writer, row[0], () => {
            writeText(writer, 1, key);
            writeYaml(writer, 2, value);
          });
        else for (const one of Array.isArray(value) ? value : [value]) writeField(writer, row, one);
      }
  }
}

function fieldRow(name: MessageName, key: string): FieldRow | undefined {
  const known: Readonly<Record<string, number>> = numbers[name];
  const number = known[key.startsWith("x-") ? "x-" : key];
  return number === undefined ? undefined : [number, forms[`${name}.${key}`] ?? text];
}

function writeField(writer: BinaryWriter, [number, form]: FieldRow, value: unknown): void {
  switch (form.encoding) {
    case "string":
      return writeText(writer, number, String(value));
    case "bool":
      writer.tag(number, WireType.Varint).bool(value === true);
      return;
    case "yaml":
      return writeYaml(writer, number, value);
    case "message":
      return writeNested(writer, number, () =>
        writeMessage(writer, form.message, typeof value === "string" ? { value } : (value as Values)),
      );
    case "wrapped":
      return writeNested(writer, number, () =>
        writeNested(writer, 1, () => writeMessage(writer, form.message, value as Values)),
      );
    case "named":
      return writeNested(writer, number, () => {
        for (const [key, item] of Object.entries(value as Values))
          writeNamed(writer, 1, key, form.message, item as Values);
      });
    default:
      return form satisfies never;
  }
}

function writeNamed(
  writer: BinaryWriter,
  number: number,
  key: string,
  name: MessageName,
  values: Values,
): void {
  writeNested(writer, number, () => {
    writeText(writer, 1, key);
    writeNested(writer, 2, () => writeMessage(writer, name, values));
  });
}

/** JSON is YAML. */
function writeYaml(writer: BinaryWriter, number: number, value: unknown): void {
  writeNested(writer, number, () => writeText(writer, 2, JSON.stringify(value)));
}

function writeText(writer: BinaryWriter, number: number, value: string): void {
  writer.tag(number, WireType.LengthDelimited).string(value);
}

function writeNested(writer: BinaryWriter, number: number, write: () => void): void {
  writer.tag(number, WireType.LengthDelimited).fork();
  write();
  writer.join();
}
