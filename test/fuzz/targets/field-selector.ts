import assert from "node:assert/strict";
import {
  matchesFields,
  parseFieldSelector,
  requiredField,
} from "../../../src/apiserver/selectors/field-selector.ts";
import { accepted } from "../rules.ts";
import type { FuzzTarget } from "../target.ts";

export default {
  seeds: [
    "spec.nodeName=a,status.phase!=Running",
    "metadata.name==a\\,b",
    "metadata.namespace=a\\\\",
    "spec.host=x",
  ],
  maxLength: 400,
  run(input) {
    const text = input.toString("utf8");
    for (const kind of ["Pod", "Node", "__proto__"]) {
      const selector = accepted(() => parseFieldSelector(text, "v1", kind));
      if (selector === undefined) continue;
      const written = selector
        .map(({ field, operator, value }) => field + operator + value.replace(/[\\,=]/g, "\\$&"))
        .join(",");
      assert.deepEqual(parseFieldSelector(written, "v1", kind), selector, written);
      const fields = Object.fromEntries(selector.map(({ field, value }) => [field, value]));
      const isPlain =
        selector.every(({ operator }) => operator === "=") && selector.length === Object.keys(fields).length;
      if (isPlain) assert.ok(matchesFields(selector, fields));
      requiredField(selector, "metadata.name");
    }
  },
} satisfies FuzzTarget;
