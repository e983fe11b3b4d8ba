import assert from "node:assert/strict";
import { test } from "node:test";
import { claimsOf, compare } from "./parity.mjs";

const reference = ["period", "unread", "nested.size"].map((name) => ({ kind: "field", name, note: "" }));
const withFlag = [...reference, { kind: "flag", name: "the-period", note: "" }];
const sources = "new Part({ everyMs: config.period, most: config.nested.size ?? 5 });";
const configSources = "const fields = { period: 1, unread: 2, nested: { size: 3 } };";

/** The verdicts and problems of a claim above a test with this code. */
function claim(text, code, { file = "src/part.test.ts", ...more } = {}) {
  const files = new Map([[file, `// parity: ${text}\ntest("a rule", () => ${code});\n`]]);
  const flagFields = new Map([["the-period", "period"]]);
  const all = { reference, exceptions: [], files, sources, configSources, flagFields, unclaimedLimit: 9 };
  const { rows, problems } = compare({ ...all, ...more });
  return { verdicts: rows.map(({ verdict }) => verdict), problems };
}

test("a claim names an item, and the option of the component that is tested", () => {
  const claims = claimsOf("a.test.ts", '// parity: field a, field b as c, endpoint 1 GET /x\ntest("t", f);');
  assert.deepEqual(
    claims.map(({ kind, name, option, title }) => [kind, name, option, title]),
    [
      ["field", "a", undefined, "t"],
      ["field", "b", "c", "t"],
      ["endpoint", "1 GET /x", undefined, "t"],
    ],
  );
});

const table = [
  ["a test that mentions a field shows it", "field period", "set({ period: 1 })", undefined],
  ["a test that never mentions a field does not", "field period", "set({ everyMs: 1 })", /never mentions/],
  [
    "a field is shown by the option that it is passed as",
    "field period as everyMs",
    "{ everyMs: 1 }",
    undefined,
  ],
  ["so is a field of an object", "field nested.size as most", "set({ most: 1 })", undefined],
  ["the test has to mention the option", "field period as everyMs", "set({ period: 1 })", /never mentions/],
  ["the field has to be passed as it", "field period as most", "set({ most: 1 })", /no source passes period/],
  [
    "a value may be computed",
    "field unread as rate",
    "set({ rate: 1 })",
    undefined,
    "rate: rateOf(1, c.unread),",
  ],
  [
    "another option is not the value",
    "field unread as rate",
    "set({ rate: 1 })",
    /no source/,
    "rate: 1, unread",
  ],
  ["a field that only the configuration has is not used", "field unread", "unread", /no source mentions/],
  ["an item that does not exist cannot be claimed", "field other", "other", /has no field other/],
];
for (const [rule, text, code, problem, more = ""] of table)
  test(rule, () => {
    const { problems } = claim(text, code, { sources: sources + more });
    assert.equal(problems.length, problem ? 1 : 0, problems.join("\n"));
    if (problem) assert.match(problems[0], problem);
  });

test("a test of the configuration shows what only the configuration uses", () => {
  const { problems } = claim("field unread", "unread", { file: "src/lib/config/fields.test.ts" });
  assert.deepEqual(problems, []);
});

test("a flag that sets a field is as its field is", () => {
  const both = (text) => claim(text, "period", { reference: withFlag }).verdicts.at(-1);
  assert.equal(both("flag *"), "unclaimed");
  assert.equal(both("flag *, field period"), "same");
  const exceptions = [{ kind: "field", name: "period", verdict: "absent", reason: "no use", line: 2 }];
  assert.equal(claim("flag *", "x", { reference: withFlag, exceptions }).verdicts.at(-1), "absent");
});

test("a gate is shown by the option that it is passed as, a locked gate by what it once turned on", () => {
  const gates = ["Open=true", "Open=false", "Locked=true"].map((name) => ({ kind: "gate", name, note: "" }));
  const problemsOf = (text, code) =>
    claim(text, code, { reference: gates, sources: 'f({ isOpen: gates.enabled("Open"), swap });' }).problems;
  assert.deepEqual(problemsOf("gate Open=false as isOpen", "{ isOpen: false }"), []);
  assert.match(problemsOf("gate Open=true as swap", "swap")[0], /no source passes Open as swap/);
  assert.deepEqual(problemsOf("gate Locked=true as swap", "swap"), []);
  assert.match(problemsOf("gate Locked=true as other", "other")[0], /no source mentions other/);
  assert.match(problemsOf("gate Locked=true", "swap")[0], /never mentions Locked/);
});

test("an event whose reason is computed is shown by the part that a source has", () => {
  const events = [{ kind: "event", name: "NodeHasDiskPressure", note: "" }];
  const problemsOf = (text) =>
    claim(text, '"NodeHasDiskPressure"', { reference: events, sources: '"HasDiskPressure"' }).problems;
  assert.deepEqual(problemsOf("event NodeHasDiskPressure as HasDiskPressure"), []);
  assert.match(problemsOf("event NodeHasDiskPressure")[0], /no source mentions NodeHasDiskPressure/);
  assert.match(problemsOf("event NodeHasDiskPressure as HasOther")[0], /never mentions HasOther/);
});
