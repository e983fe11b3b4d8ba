import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type FieldType, underlying } from "./field-type.ts";
import { kindType, packages } from "./packages.ts";

const all = packages.flatMap(({ structs }) => structs);

describe("the tables", () => {
  test("have every type that a field refers to, and a unique number for every field", () => {
    const inside = (type: FieldType): FieldType => {
      const under = underlying(type);
      if (under.kind === "list") return inside(under.items);
      return under.kind === "map" ? inside(under.values) : under;
    };
    const known = new Set<FieldType>(all);
    for (const { name, fields, members } of all) {
      for (const field of fields.values()) {
        const type = inside(field.type);
        assert.ok(type.kind === "scalar" || known.has(type), `${name}.${field.name}`);
      }
      const numbers = [...members.keys()];
      assert.deepEqual(
        numbers,
        numbers.toSorted((a, b) => a - b),
        name,
      );
    }
  });

  test("have no type twice", () => {
    for (const { name, text } of packages) {
      const heads = text.match(/^(?!kind )\w+|(?<=^kind )\w+/gm) ?? [];
      assert.ok(heads.length > 0, name);
      assert.equal(new Set(heads).size, heads.length, name);
    }
  });

  test("have no line twice in a type", () => {
    const lines = packages.flatMap(({ text }) => text.match(/^ +\d+ /gm) ?? []).length;
    assert.equal(
      lines,
      all.reduce((sum, { members }) => sum + members.size, 0),
    );
  });

  test("name keys of lists that the items have", () => {
    let lists = 0;
    for (const { name, fields } of all)
      for (const field of fields.values()) {
        const type = underlying(field.type);
        if (field.keys.length === 0) continue;
        lists++;
        assert.ok(type.kind === "list" && type.items.kind === "struct", `${name}.${field.name}`);
        for (const key of field.keys) assert.ok(type.items.fields.has(key), `${name}: ${key}`);
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
    ["certificates.k8s.io", "v1beta1", "PodCertificateRequest", "certificatesBeta.PodCertificateRequest"],
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
