import assert from "node:assert/strict";
import { test } from "node:test";
import { packages } from "../../lib/schema/packages.ts";
import { descriptions } from "./descriptions.ts";

test("all described types and fields exist in the tables", () => {
  const all = new Map(packages.flatMap(({ structs }) => structs.map((type) => [type.name, type])));
  for (const [name, { text, fields }] of descriptions()) {
    const type = all.get(name);
    assert.ok(type, name);
    assert.notEqual(text, "", name);
    for (const field of fields.keys()) assert.ok(type.fields.has(field), `${name}.${field}`);
  }
});
