import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { formatQuantity } from "../../lib/model/quantity-form.ts";
import { type FieldType, type Scalar, type StructType, underlying } from "../../lib/schema/field-type.ts";
import { packages } from "../../lib/schema/packages.ts";
import { type Json, type JsonObject, setValue } from "../patch/json-value.ts";
import { StatusError } from "../status-error.ts";
import { decodeProtobuf } from "./decode-protobuf.ts";
import { encodeProtobuf, watchFrame } from "./encode-protobuf.ts";

const seed = 1;
/** Without lone surrogates, which cannot be encoded. */
const text = fc.string({ unit: "grapheme", minLength: 1, maxLength: 12 });
const key = fc.oneof(text, fc.constantFrom("", "__proto__", "constructor"));
const micros = fc.bigInt({ min: -62_135_596_799_000_000n, max: 253_402_300_799_999_999n });

/** Non-empty values, in canonical form: empty ones are dropped when decoded. */
const values: Readonly<Record<Scalar, fc.Arbitrary<Json>>> = {
  any: fc.dictionary(text, fc.constant({})).map((fields) => ({ ...fields, "f:x": {} })),
  bool: fc.constant(true),
  bytes: fc.uint8Array({ minLength: 1, maxLength: 20 }).map((bytes) => Buffer.from(bytes).toString("base64")),
  float64: fc.double({ noNaN: true, noDefaultInfinity: true, min: 1 }),
  "int-or-string": fc.oneof(text, fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 })),
  int32: fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }).filter((number) => number !== 0),
  int64: fc.maxSafeInteger().filter((number) => number !== 0),
  microtime: micros.map((value) => timeText(value, true)),
  quantity: fc.bigInt({ min: -(10n ** 18n), max: 10n ** 18n }).map((nano) => formatQuantity(nano)),
  string: text,
  time: micros.map((value) => timeText(value, false)),
};

function timeText(micros: bigint, fraction: boolean): string {
  const rest = ((micros % 1_000_000n) + 1_000_000n) % 1_000_000n;
  const seconds = new Date(Number((micros - rest) / 1000n)).toISOString().slice(0, 19);
  return fraction ? `${seconds}.${String(rest).padStart(6, "0")}Z` : `${seconds}Z`;
}

/** Optional fields keep empty values. */
const emptyValues: Partial<Record<Scalar, Json>> = { bool: false, int32: 0, int64: 0, string: "" };

function jsonOf(declared: FieldType, mayBeEmpty: boolean): fc.Arbitrary<Json> {
  const type = underlying(declared);
  switch (type.kind) {
    case "scalar": {
      const empty = mayBeEmpty ? emptyValues[type.scalar] : undefined;
      return empty === undefined ? values[type.scalar] : fc.oneof(values[type.scalar], fc.constant(empty));
    }
    case "struct":
      return objectOf(type);
    case "list":
      return fc.array(jsonOf(type.items, true), { minLength: 1, maxLength: 3 });
    case "map":
      return fc
        .uniqueArray(fc.tuple(key, jsonOf(type.values, true)), {
          minLength: 1,
          maxLength: 3,
          selector: ([name]) => name,
        })
        .map((entries) => objectFrom(entries));
    default:
      return type satisfies never;
  }
}

function objectFrom(entries: readonly (readonly [string, Json])[]): JsonObject {
  const object: JsonObject = {};
  for (const [name, value] of entries) setValue(object, name, value);
  return object;
}

function objectOf({ fields, isKind }: StructType): fc.Arbitrary<JsonObject> {
  const sent = [...fields.values()].filter((field) => !(isKind && field.embeddedIn === "TypeMeta"));
  if (sent.length === 0) return fc.constant({});
  return fc
    .subarray(sent, { maxLength: Math.min(5, sent.length) })
    .chain((some) =>
      fc
        .tuple(...some.map((field) => jsonOf(field.type, field.pointer || field.kept || field.required)))
        .map((found) => objectFrom(some.map((field, at) => [field.name, found[at]!]))),
    );
}

const kinds = packages.flatMap(({ group, version, structs }) =>
  structs
    .filter(({ isKind }) => isKind)
    .map((type) => ({
      type,
      apiVersion: group === "" ? version : `${group}/${version}`,
      kind: type.name.split(".")[1]!,
    })),
);

const anyObject = fc
  .constantFrom(...kinds)
  .chain(({ type, apiVersion, kind }) => objectOf(type).map((fields) => ({ apiVersion, kind, ...fields })));

for (const { type, apiVersion, kind } of kinds)
  test(`${apiVersion} ${kind} survives a round trip`, () => {
    fc.assert(
      fc.property(objectOf(type), (fields) => {
        const object = { apiVersion, kind, ...fields };
        assert.deepEqual(decodeProtobuf(encodeProtobuf(object)), object);
      }),
      { seed, numRuns: 40 },
    );
  });

/** An object with a value for each field; neighboring fields have different values. */
function fullValue(declared: FieldType, index: number): Json {
  const type = underlying(declared);
  switch (type.kind) {
    case "list":
      return [fullValue(type.items, index), fullValue(type.items, index + 1)];
    case "map":
      return { a: fullValue(type.values, index), b: fullValue(type.values, index + 1) };
    case "struct":
      return objectFrom(
        [...type.fields.values()]
          .filter((field) => field.embeddedIn !== "TypeMeta")
          .map((field, at) => [field.name, fullValue(field.type, at)]),
      );
    case "scalar":
      return fc.sample(values[type.scalar], { seed: index, numRuns: 1 })[0]!;
    default:
      return type satisfies never;
  }
}

for (const { type, apiVersion, kind } of kinds)
  test(`${apiVersion} ${kind} with all fields survives a round trip`, () => {
    const full = fullValue(type, 0) as JsonObject;
    const object = { apiVersion, kind, ...full };
    assert.deepEqual(decodeProtobuf(encodeProtobuf(object)), object);
  });

/** Any input decodes to an object or is rejected with status 400. */
function decodesOrRejects(bytes: Buffer): void {
  try {
    JSON.stringify(decodeProtobuf(bytes));
  } catch (error) {
    assert.ok(error instanceof StatusError, String(error));
    assert.equal(error.status, 400);
  }
}

test("random bytes are rejected", () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 200 }),
      fc.constantFrom(...kinds),
      (junk, { apiVersion, kind }) => {
        decodesOrRejects(Buffer.from(junk));
        decodesOrRejects(Buffer.concat([Buffer.from("k8s\0"), junk]));
        const head = encodeProtobuf({ apiVersion, kind });
        // The head ends with an empty object: its length is replaced.
        decodesOrRejects(Buffer.concat([head.subarray(0, -1), Buffer.from([junk.length % 128]), junk]));
      },
    ),
    { seed, numRuns: 2000 },
  );
});

test("a message with changed or missing bytes is decoded or rejected", () => {
  fc.assert(
    fc.property(anyObject, fc.nat(), fc.nat({ max: 255 }), (object, index, byte) => {
      const bytes = encodeProtobuf(object as JsonObject);
      decodesOrRejects(bytes.subarray(0, index % bytes.length));
      bytes[index % bytes.length] = byte;
      decodesOrRejects(bytes);
    }),
    { seed, numRuns: 1000 },
  );
});

test("a watch frame has its length, the type and the object", () => {
  fc.assert(
    fc.property(anyObject, (value) => {
      const object = value as JsonObject;
      const frame = watchFrame("ADDED", object);
      const inner = encodeProtobuf(object);
      assert.equal(frame.readUInt32BE(), frame.length - 4);
      assert.deepEqual(frame.subarray(4, 11), Buffer.from("\n\x05ADDED"));
      assert.deepEqual(frame.subarray(-inner.length), inner);
    }),
    { seed, numRuns: 50 },
  );
});
