import fc from "fast-check";
import { type DBusType, parseSignature } from "./signature.ts";
import type { DBusValue } from "./value.ts";

const basicTypes = [..."ybnqiuxtdsog"];

const { type: anyType } = fc.letrec<{ type: string }>((tie) => ({
  type: fc.oneof(
    { maxDepth: 4, depthSize: "small" },
    { arbitrary: fc.constantFrom(...basicTypes), weight: 4 },
    { arbitrary: fc.constant("v"), weight: 1 },
    { arbitrary: tie("type").map((type) => `a${type}`), weight: 2 },
    {
      arbitrary: fc.tuple(fc.constantFrom(...basicTypes), tie("type")).map(([k, v]) => `a{${k}${v}}`),
      weight: 1,
    },
    {
      arbitrary: fc.array(tie("type"), { minLength: 1, maxLength: 3 }).map((types) => `(${types.join("")})`),
      weight: 2,
    },
  ),
}));

const objectPath = fc
  .array(fc.stringMatching(/^[A-Za-z0-9_]{1,5}$/), { maxLength: 3 })
  .map((parts) => `/${parts.join("/")}`);
const text = fc.string({ unit: "binary" }).filter((value) => value.isWellFormed() && !value.includes("\0"));

/** D-Bus has no NaN that equals itself, so doubles are real numbers. */
const basicValues: Record<string, fc.Arbitrary<DBusValue>> = {
  y: fc.nat(255),
  b: fc.boolean(),
  n: fc.integer({ min: -0x8000, max: 0x7fff }),
  q: fc.nat(0xffff),
  i: fc.integer(),
  u: fc.nat(0xffffffff),
  x: fc.bigInt({ min: -(1n << 63n), max: (1n << 63n) - 1n }),
  t: fc.bigInt({ min: 0n, max: (1n << 64n) - 1n }),
  d: fc.double({ noNaN: true }),
  s: text,
  o: objectPath,
  g: fc.constantFrom("", "s", "a{sv}", "(iu)at"),
};

function valueFor(type: DBusType, depth: number): fc.Arbitrary<DBusValue> {
  switch (type.code) {
    case "a":
      if (type.element.code === "y") return fc.uint8Array({ maxLength: 9 });
      return fc.array(valueFor(type.element, depth), { maxLength: 4 });
    case "(":
    case "{":
      return fc.tuple(...type.fields.map((field) => valueFor(field, depth)));
    case "v":
      return (depth > 2 ? fc.constantFrom(...basicTypes) : anyType).chain((signature) =>
        valueFor(parseSignature(signature)[0]!, depth + 1).map((value) => ({ signature, value })),
      );
    default:
      return basicValues[type.code]!;
  }
}

export interface Body {
  readonly signature: string;
  readonly body: readonly DBusValue[];
}

/** The body of a message: a signature and values of its types. */
export const anyBody: fc.Arbitrary<Body> = fc
  .array(anyType, { maxLength: 4 })
  .map((types) => types.join(""))
  .filter((signature) => signature.length <= 255)
  .chain((signature) =>
    fc
      .tuple(...parseSignature(signature).map((type) => valueFor(type, 0)))
      .map((body) => ({ signature, body: body as readonly DBusValue[] })),
  );
