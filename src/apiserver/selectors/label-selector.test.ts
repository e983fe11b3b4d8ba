import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { type Labels, labelSelectorOf, matchesLabels } from "./label-selector.ts";
import { parseLabelSelector } from "./parse-labels.ts";

describe("query parameters", () => {
  const web: Labels = { app: "web", tier: "front", n: "5", empty: "" };
  const table: [selector: string, matches: boolean][] = [
    ["", true],
    ["app=web", true],
    ["app==web", true],
    ["app = web", true],
    ["app=db", false],
    ["app!=db", true],
    ["app!=web", false],
    ["missing!=x", true],
    ["app", true],
    ["!app", false],
    ["! missing", true],
    ["missing", false],
    ["app in (db, web)", true],
    ["app in (db)", false],
    ["app notin (db)", true],
    ["app notin (web,db)", false],
    ["missing notin (x)", true],
    ["missing in (x)", false],
    ["empty=", true],
    ["app=", false],
    ["empty in ()", true],
    ["empty in (a,)", true],
    ["n>4", true],
    ["n>5", false],
    ["n<6", true],
    ["app>1", false],
    ["app=web,tier=front", true],
    ["app=web,tier=back", false],
    ["app in (web),!missing,tier", true],
    ["in=x", false],
    ["constructor", false],
  ];
  for (const [selector, matches] of table)
    test(`${selector || "the empty selector"} ${matches ? "matches" : "does not match"}`, () =>
      assert.equal(matchesLabels(parseLabelSelector(selector), web), matches));
});

describe("rejections", () => {
  const table: [string, string][] = [
    ["a=b=c", "found '=', expected: ',' or 'end of string'"],
    ["a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"],
    ["a,", "found '', expected: identifier after ','"],
    [",a", "found ',', expected: !, identifier, or 'end of string'"],
    ["!a=b", "found '=', expected: ',' or 'end of string'"],
    ["a in b", "unable to parse requirement: found 'b' expected: '('"],
    ["a in (b", "unable to parse requirement: found '', expected: ',' or ')'"],
    ["a in (", "unable to parse requirement: found '', expected: ',', ')' or identifier"],
    ["a=(", "unable to parse requirement: found '(', expected: identifier"],
    ["!", "unable to parse requirement: found '', expected: identifier"],
    [
      "a>x",
      `unable to parse requirement: values[0]: Invalid value: "x": for 'Gt', 'Lt' operators, the value must be an integer`,
    ],
    [
      "-a=b",
      `unable to parse requirement: <nil>: Invalid value: "-a": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
    ],
  ];
  for (const [selector, message] of table)
    test(`${selector}: ${message}`, () =>
      assert.throws(() => parseLabelSelector(selector), { code: "BadRequest", message }));
});

describe("selectors of objects", () => {
  const labels: Labels = { app: "web" };
  test("an absent selector selects nothing", () =>
    assert.equal(matchesLabels(labelSelectorOf(undefined), labels), false));
  test("an empty selector selects everything", () =>
    assert.equal(matchesLabels(labelSelectorOf({}), undefined), true));
  const table: [string, string, string[] | undefined, boolean][] = [
    ["app", "In", ["web"], true],
    ["app", "NotIn", ["web"], false],
    ["app", "Exists", undefined, true],
    ["app", "DoesNotExist", [], false],
  ];
  for (const [key, operator, values, matches] of table)
    test(`${operator} ${values ?? ""}`, () => {
      const selector = labelSelectorOf({
        matchLabels: labels,
        matchExpressions: [{ key, operator, values }],
      });
      assert.equal(matchesLabels(selector, labels), matches);
    });
  const wrong: [string, string[], string][] = [
    ["Near", [], '"Near" is not a valid label selector operator'],
    ["In", [], "values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty"],
    ["Exists", ["x"], 'values: Invalid value: ["x"]: values set must be empty for exists and does not exist'],
  ];
  for (const [operator, values, message] of wrong)
    test(message, () =>
      assert.throws(() => labelSelectorOf({ matchExpressions: [{ key: "a", operator, values }] }), {
        message,
      }),
    );
});

test("a selector and its opposite divide all objects", () => {
  const word = fc.constantFrom("a", "b", "c");
  const opposites = fc.oneof(
    word.map((key) => [key, `!${key}`] as const),
    fc.tuple(word, word).map(([key, value]) => [`${key}=${value}`, `${key}!=${value}`] as const),
    fc
      .tuple(word, fc.array(word, { minLength: 1 }))
      .map(([key, values]) => [`${key} in (${values})`, `${key} notin (${values})`] as const),
  );
  fc.assert(
    fc.property(opposites, fc.dictionary(word, word), ([one, other], labels) => {
      const matches = (selector: string) => matchesLabels(parseLabelSelector(selector), labels);
      assert.notEqual(matches(one), matches(other));
      assert.equal(matches(`${one},${other}`), false);
    }),
  );
});
