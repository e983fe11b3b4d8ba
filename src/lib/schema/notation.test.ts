import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { TypePackage } from "./type-package.ts";

const text = `
kind Thing atomic
   1 name! string
   2 items []Item by:a+b merge
   4 more *other.Names set
   5 ips []Item merge:ip retainKeys
   6 labels map[string]string granular
   7 ...Inner
   8 mode Mode kept
Item
   1 a string
Inner
   1 port *int32 =80
Mode = string  | A | in
  B
Empty = string
`;

function packageOf(text: string): TypePackage {
  const other = new TypePackage({ name: "other", group: "o", version: "v1", text: "Names = []string" });
  return new TypePackage({ name: "x", group: "x.k8s.io", version: "v1", uses: [other], text });
}

describe("the notation", () => {
  const thing = packageOf(text).struct("Thing")!;

  test("has kinds, with the fields that all kinds have and those of embedded structs", () => {
    assert.deepEqual([thing.name, thing.isKind, thing.atomic], ["x.Thing", true, true]);
    const names = ["apiVersion", "kind", "name", "items", "more", "ips", "labels", "port", "mode"];
    assert.deepEqual([...thing.fields.keys()], names);
    assert.deepEqual([...thing.members.keys()], [1, 2, 4, 5, 6, 7, 8]);
  });

  const rows: [string, object][] = [
    ["kind", { embeddedIn: "TypeMeta" }],
    ["name", { number: 1, required: true, pointer: false, type: { kind: "scalar", scalar: "string" } }],
    ["items", { number: 2, list: "map", keys: ["a", "b"], mergeKey: "a", required: false }],
    [
      "more",
      { number: 4, list: "set", keys: [], pointer: true, type: { kind: "alias", name: "other.Names" } },
    ],
    ["ips", { list: "atomic", mergeKey: "ip", retainKeys: true }],
    ["labels", { map: "granular", type: { kind: "map", values: { kind: "scalar", scalar: "string" } } }],
    ["port", { number: 1, default: "80", embeddedIn: "Inner", pointer: true }],
    ["mode", { kept: true, type: { kind: "alias", values: ["", "A", "in B"] } }],
  ];
  for (const [name, part] of rows)
    test(`has the field ${name}`, () => assert.partialDeepStrictEqual(thing.fields.get(name), part));

  test("has an embedded struct as one member of the message", () =>
    assert.partialDeepStrictEqual(thing.members.get(7), { kind: "embedded", struct: { name: "x.Inner" } }));

  test("has names for types without values", () => {
    const type = packageOf("A\n   1 a Empty\nEmpty = string\n").struct("A")!;
    assert.partialDeepStrictEqual(type.fields.get("a"), { type: { kind: "alias", values: [] } });
  });

  const malformed = ["A: name string", "A\n   name string", "A\n   1 name Nothing", "A\n   1 ...Nothing"];
  for (const one of malformed)
    test(`rejects ${JSON.stringify(one)}`, () =>
      assert.throws(() => packageOf(one).struct("A")!.fields, /Not in the notation/));

  test("has enumerations", () => {
    assert.deepEqual(packageOf(text).values("Mode"), ["", "A", "in B"]);
    assert.throws(() => packageOf(text).values("Item"), /No enumeration x.Item/);
    assert.throws(() => packageOf(text).values("Nothing"), /No enumeration x.Nothing/);
  });
});
