import assert from "node:assert/strict";
import { parseYaml } from "../../../src/apiserver/rest/body.ts";
import { decodeContinue, encodeContinue } from "../../../src/apiserver/storage/continue-token.ts";
import { accepted, assertSize, jsonOf } from "../rules.ts";
import type { FuzzTarget } from "../target.ts";

/** Bodies in YAML, and tokens of pages, of requests to the embedded API. */
export default {
  seeds: [
    "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n",
    "a: &a [1, 2]\nb: [*a, *a]\n",
    '{"a": 1, "b": [true, null]}',
    "a: 1\na: 2\n? {b: c}\n: d\n",
    encodeContinue({ version: 5, after: { namespace: "a", name: "b" } }),
  ],
  dictionary: ["&a ", "*a", "<<: ", "? ", "!!binary ", "!!set ", "\n---\n", "__proto__", "[[[[[[[["],
  maxLength: 1500,
  run(input) {
    const text = input.toString("utf8");
    const parsed = accepted(() => parseYaml(text));
    if (parsed) {
      const json = jsonOf(text);
      if (json !== undefined && /^\s*\{/.test(text)) assert.deepEqual(parsed.value, json);
      assertSize(parsed.duplicates, 10_000 + 100 * input.length, "the duplicates");
      assertSize(parsed.value, 10_000 + 200 * input.length, "the value");
    }
    const token = accepted(() => decodeContinue(text));
    if (token) assert.deepEqual(decodeContinue(encodeContinue(token)), token);
  },
} satisfies FuzzTarget;
