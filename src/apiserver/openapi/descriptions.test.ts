import assert from "node:assert/strict";
import { test } from "node:test";
import { packages, structNames, structType } from "../../lib/schema/type-table.ts";
import { descriptions } from "./descriptions.ts";

test("the tables have each type that is described, with the fields that are", () => {
  const all = packages.flatMap(({ name }) => structNames(name));
  for (const [name, { text, fields }] of descriptions()) {
    assert.ok(all.includes(name), name);
    assert.notEqual(text, "", name);
    for (const field of fields.keys()) assert.ok(structType(name).fields.has(field), `${name}.${field}`);
  }
});
