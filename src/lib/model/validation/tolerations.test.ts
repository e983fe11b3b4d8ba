import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Problems } from "./problem.ts";
import { checkToleration } from "./tolerations.ts";

const unsupported = (operator: string, ...names: string[]) =>
  `operator: Unsupported value: "${operator}": supported values: ${names.map((name) => `"${name}"`).join(", ")}`;
const canonical = (value: string) =>
  `value: Invalid value: "${value}": must be a valid decimal integer in canonical form`;
const unparsed = (value: string, error: string) =>
  `value: Invalid value: "${value}": strconv.ParseInt: parsing "${value}": ${error}`;

const off = unsupported("Lt", "Equal", "Exists", "Lt", "Gt");
const rows: [operator: string, value: string, off: string[], on: string[]][] = [
  ["Equal", "a", [], []],
  ["Like", "1", [unsupported("Like", "Equal", "Exists")], [unsupported("Like", "Equal", "Exists")]],
  ["Lt", "0", [off], []],
  ["Lt", "-9223372036854775808", [off], []],
  ["Lt", "9223372036854775808", [off], [unparsed("9223372036854775808", "value out of range")]],
  ["Lt", "-0", [off], [canonical("-0")]],
  ["Lt", "007", [off], [canonical("007")]],
  ["Lt", "+7", [off], [canonical("+7")]],
  ["Lt", "a", [off], [canonical("a"), unparsed("a", "invalid syntax")]],
  ["Lt", "", [off], ['value: Invalid value: "": must be non-empty', unparsed("", "invalid syntax")]],
  ["Gt", "7", [off.replace("Lt", "Gt")], []],
];

describe("a toleration that compares numbers", () => {
  for (const [operator, value, whenOff, whenOn] of rows)
    for (const [comparesTaints, expected] of [
      [false, whenOff],
      [true, whenOn],
    ] as const)
      it(`${operator} "${value}" is ${expected.length === 0 ? "valid" : "rejected"} with the gate ${comparesTaints ? "on" : "off"}`, () => {
        const problems = new Problems();
        checkToleration({ key: "k", operator, value }, "t", problems, { comparesTaints });
        assert.deepEqual(
          problems.list.map(({ path, message }) => `${path}: ${message}`),
          expected.map((text) => `t.${text}`),
        );
      });
});
