import assert from "node:assert/strict";
import { allocate, type Inventory } from "../../../src/apiserver/controllers/claims/allocate.ts";
import {
  matchesTerms,
  matchesLabels as nodeHasLabels,
  unmetTerms,
} from "../../../src/lib/model/node-selector.ts";
import { jsonOf } from "../rules.ts";
import type { FuzzTarget } from "../target.ts";

const node = { name: "n", labels: { a: "b", c: "5" } };
const slice = {
  spec: {
    driver: "d.io",
    nodeName: "n",
    pool: { name: "p", generation: 1, resourceSliceCount: 1 },
    devices: [{ name: "x" }],
  },
};
const inventory = {
  slices: [slice],
  classes: new Map([["c", { metadata: { name: "c" }, spec: {} }]]),
  used: new Set<string>(),
} as unknown as Inventory;

/** The expression of a device selector, or the terms of a node selector in JSON. */
export default {
  seeds: [
    'device.driver == "d.io"',
    " device.driver=='other' ",
    'device.attributes["x"].y && true',
    '[{"matchExpressions":[{"key":"a","operator":"In","values":["b"]},{"key":"c","operator":"Gt","values":["4"]}]}]',
    '[{"matchFields":[{"key":"metadata.name","operator":"NotIn","values":["x"]}]},{}]',
  ],
  maxLength: 300,
  run(input) {
    const expression = input.toString("utf8");
    const request = { name: "r", exactly: { deviceClassName: "c", selectors: [{ cel: { expression } }] } };
    const result = allocate({ devices: { requests: [request] } } as never, node, inventory);
    // Exactly one driver is selected by a text that can be compared without reading the expression.
    const isSelected = ['"d.io"', "'d.io'"].some(
      (quoted) => expression.replace(/\s/g, "") === `device.driver==${quoted}`,
    );
    if (!isSelected) assert.ok("failure" in result, expression);
    const terms = jsonOf(expression);
    if (!Array.isArray(terms) || !terms.every(isTerm)) return;
    if (!matchesTerms(terms, node)) assert.equal(typeof unmetTerms(terms, node), "string");
    nodeHasLabels({ [expression.slice(0, 5)]: "b" }, node.labels);
  },
} satisfies FuzzTarget;

/** True for terms that the validation of a pod accepts. */
function isTerm(term: unknown): boolean {
  const lists = Object.values((term ?? {}) as Record<string, unknown>);
  return (
    typeof term === "object" &&
    term !== null &&
    lists.every(
      (list) =>
        Array.isArray(list) &&
        list.every(
          (item: { key?: unknown; values?: unknown }) =>
            typeof item?.key === "string" &&
            (item.values === undefined ||
              (Array.isArray(item.values) && item.values.every((value) => typeof value === "string"))),
        ),
    )
  );
}
