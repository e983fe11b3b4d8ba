import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type FieldType, underlying } from "./field-type.ts";
import { parseAlias, parseStruct, splitTypes } from "./type-notation.ts";
import { kindType, packages, structNames, structType } from "./type-table.ts";

const all = packages.flatMap(({ name }) => structNames(name));

describe("the tables", () => {
  test("have every type that a field refers to", () => {
    const known = new Set(all);
    const visit = (type: FieldType): void => {
      const under = underlying(type);
      if (under.kind === "struct") assert.ok(known.has(under.type), under.type);
      if (under.kind === "list") visit(under.items);
      if (under.kind === "map") visit(under.values);
    };
    for (const name of all) for (const { type } of structType(name).fields.values()) visit(type);
  });

  test("name keys of lists that the items have", () => {
    let lists = 0;
    for (const name of all)
      for (const field of structType(name).fields.values()) {
        const type = underlying(field.type);
        if (field.keys.length === 0) continue;
        lists++;
        assert.ok(type.kind === "list" && type.items.kind === "struct", `${name}.${field.name}`);
        for (const key of field.keys)
          assert.ok(structType(type.items.type).fields.has(key), `${name}: ${key}`);
      }
    assert.ok(lists > 20);
  });
});

describe("a kind", () => {
  const rows: [string, string, string, string | undefined][] = [
    ["", "v1", "Pod", "core.Pod"],
    ["", "v1", "Event", "core.Event"],
    ["events.k8s.io", "v1", "Event", "events.Event"],
    ["certificates.k8s.io", "v1beta1", "ClusterTrustBundle", "certificatesBeta.ClusterTrustBundle"],
    ["policy", "v1", "Eviction", "policy.Eviction"],
    ["storage.k8s.io", "v1", "DeleteOptions", "meta.DeleteOptions"],
    ["apps", "v1", "Deployment", undefined],
    ["", "v2", "Pod", undefined],
    ["", "v1", "constructor", undefined],
  ];
  for (const [group, version, kind, expected] of rows)
    test(`${group}/${version} ${kind} is ${expected}`, () =>
      assert.equal(kindType(group, version, kind)?.name, expected));
});

describe("the notation", () => {
  const names = { typeNamed: (name: string) => ({ kind: "struct", type: `x.${name}` }) as const };
  const { structs, aliases } = splitTypes(`
kind Thing atomic: name! string, items []Item by:a+b merge, more []string set,
  ips []Ip merge:ip retainKeys, labels map string granular, ...Inner, port int32 =80
Mode = string  | A |
  B`);

  test("tells kinds, required fields, lists and where fields come from", () => {
    const thing = parseStruct("x.Thing", structs.get("Thing")!, names);
    assert.deepEqual([thing.isKind, thing.atomic], [true, true]);
    assert.deepEqual(
      [...thing.fields.keys()],
      ["apiVersion", "kind", "name", "items", "more", "ips", "labels", "port"],
    );
    const expected: [string, object][] = [
      ["kind", { embeddedIn: "TypeMeta" }],
      ["name", { required: true, type: { kind: "scalar", scalar: "string" } }],
      ["items", { list: "map", keys: ["a", "b"], mergeKey: "a", required: false }],
      ["more", { list: "set", keys: [] }],
      ["ips", { list: "atomic", mergeKey: "ip", retainKeys: true }],
      ["labels", { map: "granular", type: { kind: "map", values: { kind: "scalar", scalar: "string" } } }],
      ["port", { default: "80", embeddedIn: "Inner" }],
    ];
    for (const [name, part] of expected) assert.partialDeepStrictEqual(thing.fields.get(name), part);
  });

  test("tells the values of another name, the empty one too", () => {
    const mode = parseAlias("x.Mode", aliases.get("Mode")!, names);
    assert.partialDeepStrictEqual(mode, { kind: "alias", values: ["", "A", "B"] });
  });

  test("refuses what it does not know", () =>
    assert.throws(() => splitTypes("Thing name string"), /no such type/));
});
