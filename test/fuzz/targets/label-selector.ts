import assert from "node:assert/strict";
import { type LabelSelector, matchesLabels } from "../../../src/apiserver/selectors/label-selector.ts";
import { parseLabelSelector } from "../../../src/apiserver/selectors/parse-labels.ts";
import { accepted } from "../rules.ts";
import type { FuzzTarget } from "../target.ts";

export default {
  seeds: [
    "a=b,c!=d",
    "a in (b,,c),!d",
    "app.kubernetes.io/name notin (x), e",
    "a>1,b<-2,c==",
    "constructor,!__proto__",
  ],
  maxLength: 400,
  run(input) {
    const selector = accepted(() => parseLabelSelector(input.toString("utf8")));
    if (selector === undefined) return;
    for (const labels of [undefined, { a: "b", c: "1", e: "" }]) matchesLabels(selector, labels);
    const text = textOf(selector);
    assert.deepEqual(parseLabelSelector(text), selector, text);
    assert.ok(text.length <= 4 * input.length + 8);
  },
} satisfies FuzzTarget;

function textOf(selector: LabelSelector): string {
  if (selector === "nothing") return "";
  return selector
    .map((requirement) => {
      const { key, operator } = requirement;
      if ("values" in requirement) return `${key} ${operator} (${requirement.values.join(",")})`;
      if ("value" in requirement) return `${key}${operator === "gt" ? ">" : "<"}${requirement.value}`;
      return operator === "!" ? `!${key}` : key;
    })
    .join(",");
}
