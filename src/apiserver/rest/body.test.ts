import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { assertGrowth } from "../../../test/growth.ts";
import { encodeProtobuf } from "../protobuf/encode-protobuf.ts";
import { type BodyEncoding, parseBody } from "./body.ts";

const parse = (text: string, encoding: BodyEncoding = "yaml") => parseBody(Buffer.from(text), encoding);
const numbered = (count: number, line: (i: number) => string) =>
  Array.from({ length: count }, (_, i) => line(i)).join("\n");

describe("a body in YAML", () => {
  test("names the lines of duplicate keys, and the last value counts", () => {
    const { value, duplicates } = parse('a: 1\nb: {c: 1, "c": 2}\na: 3\n1: x\n"1": y\n');
    assert.deepEqual(value, { a: 3, b: { c: 2 }, 1: "y" });
    assert.deepEqual(duplicates, [
      'line 2: key "c" already set in map',
      'line 3: key "a" already set in map',
    ]);
  });

  test("with a map as a key is rejected, and prints no warning", (t) => {
    const warn = t.mock.method(process, "emitWarning", () => {});
    const message = "error converting YAML to JSON: yaml: invalid map key: a list or a map";
    assert.throws(() => parse("? {a: b}\n: c\n"), { status: 400, message });
    assert.throws(() => parse("? ".repeat(400)), { status: 400, message });
    assert.equal(warn.mock.callCount(), 0);
  });

  test("names at most 100 duplicate keys", () =>
    assert.equal(parse("a: 1\n".repeat(1000)).duplicates.length, 100));

  const shapes: [rule: string, text: (size: number) => string][] = [
    ["different keys", (size) => numbered(size, (i) => `k${i}: 1`)],
    ["the same key", (size) => "a: 1\n".repeat(size)],
    ["keys in flow style", (size) => `{${numbered(size, (i) => `k${i}: 1,`)}}`],
  ];
  for (const [rule, text] of shapes)
    test(`with many of ${rule} is parsed in linear time`, () =>
      assertGrowth(1, 20, (size) => {
        const body = text(size);
        return () => parse(body);
      }));

  test("with more anchors and aliases than can be resolved in time is rejected", () =>
    assert.throws(() => parse(numbered(5000, (i) => `- &a${i} 1\n- *a${i}`)), {
      status: 400,
      message: "error converting YAML to JSON: yaml: too many anchors and aliases: 5000 and 5000",
    }));
});

describe("a body that is nested deeply is rejected", () => {
  const nested = (depth: number) => `{"a":${"[".repeat(depth)}${"]".repeat(depth)}}`;
  test("it is accepted up to 500 levels", () => {
    parse(nested(400), "json");
    parse(nested(400));
  });
  for (const depth of [600, 5000, 200_000]) {
    test(`JSON with ${depth} levels`, () =>
      assert.throws(() => parse(nested(depth), "json"), {
        status: 400,
        message: "couldn't get version/kind; json parse error: exceeded max depth",
      }));
    test(`YAML with ${depth} levels`, () => {
      assert.throws(() => parse(nested(depth)), { status: 400, message: /exceeded max depth$/ });
      assert.throws(() => parse(`a: ${nested(depth)}`), { status: 400, message: /exceeded max depth$/ });
      assert.throws(() => parse(`${"- ".repeat(depth)}1`), { status: 400, message: /exceeded max depth$/ });
    });
  }
});

describe("a body in protobuf", () => {
  const nested = (levels: number) => {
    const managedFields = [{ fieldsV1: JSON.parse(`${'{"f:a":'.repeat(levels)}{}${"}".repeat(levels)}`) }];
    return encodeProtobuf({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a", managedFields } });
  };
  const read = (body: Buffer) => parseBody(body, "protobuf", { group: "", version: "v1", kind: "ConfigMap" });

  test("may contain JSON of 400 levels", () => assert.ok(read(nested(400)).value));
  test("must not contain JSON of more than 500 levels", () =>
    assert.throws(() => read(nested(600)), /exceeded max depth/));
});
