import assert from "node:assert/strict";
import { test } from "node:test";
import { packages } from "../../lib/schema/packages.ts";
import { describedField, describedType, descriptions } from "./descriptions.ts";

test("all described types and fields exist in the tables", () => {
  const all = new Map(packages.flatMap(({ structs }) => structs.map((type) => [type.name, type])));
  for (const [name, { text, fields }] of descriptions()) {
    const type = all.get(name);
    assert.ok(type, name);
    assert.notEqual(text, "", name);
    for (const field of fields.keys()) assert.ok(type.fields.has(field), `${name}.${field}`);
  }
});

test("all types and fields of resource claims are described", () => {
  const structs = packages.find(({ name }) => name === "resource")?.structs ?? [];
  assert.ok(structs.length > 0);
  for (const { name, fields } of structs) {
    if (name.endsWith("List")) continue;
    assert.ok(describedType(name), name);
    for (const field of fields.keys()) assert.ok(describedField(name, field), `${name}.${field}`);
  }
});
