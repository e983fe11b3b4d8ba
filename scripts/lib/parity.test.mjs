import assert from "node:assert/strict";
import { test } from "node:test";
import { claimsOf, compare, parseExceptions, parseReference, renderParity } from "./parity.mjs";

const reference = parseReference(
  "kind\tname\tnote\nevent\tFailedMount\t\nfield\tmaxPods\t\nflag\tmax-pods\t\ngate\tNodeSwap=true\t\ngate\tCSIMigration\tnot read by the kubelet\n",
);
const claiming = (claim) =>
  `import { x } from "y";\n\n// parity: ${claim}\ntest("an unmountable volume is reported", () => mount("FailedMount", { maxPods: 1, NodeSwap }));\n`;
const problemsOf = ({
  claim = "event FailedMount, field maxPods, gate NodeSwap=true",
  exceptions = "",
  sources = "FailedMount maxPods NodeSwap",
  text = claiming(claim),
}) =>
  compare({
    reference,
    exceptions: parseExceptions(`kind\tname\tverdict\treason\n${exceptions}`),
    files: new Map([["a.test.ts", text]]),
    sources,
    flagFields: new Map([["max-pods", "maxPods"]]),
  }).problems;

test("a claim names its file, line, items and the test that follows", () => {
  assert.deepEqual(
    claimsOf("a.test.ts", claiming("event FailedMount, field maxPods")).map(({ line, kind, name, title }) => [
      line,
      kind,
      name,
      title,
    ]),
    [
      [3, "event", "FailedMount", "an unmountable volume is reported"],
      [3, "field", "maxPods", "an unmountable volume is reported"],
    ],
  );
});

test("a table in which a test shows each item has no problems", () => {
  assert.deepEqual(problemsOf({}), []);
});

const wrong = [
  [
    "an item without a claim or an exception",
    { claim: "event FailedMount, field maxPods" },
    /^gate NodeSwap=true: no test/,
  ],
  ["a claim of an unknown item", { claim: "event FailedMunt" }, /v1\.36 has no event FailedMunt/],
  [
    "a claim in a file that never mentions the item",
    { text: '// parity: event FailedMount\ntest("x", () => {});\n' },
    /never mentions FailedMount/,
  ],
  [
    "a claim that no test follows",
    { text: "// parity: event FailedMount\n// FailedMount" },
    /no test with a title/,
  ],
  [
    "a claim of an item that no source has",
    { sources: "maxPods NodeSwap" },
    /no source mentions FailedMount/,
  ],
  ["an exception without a reason", { exceptions: "event\tFailedMount\tabsent\t" }, /no reason/],
  [
    "a difference without a document",
    { exceptions: "event\tFailedMount\tdifferent\tlater" },
    /names its ADR/,
  ],
  [
    "an absent item that a test shows",
    { exceptions: "event\tFailedMount\tabsent\tWindows only" },
    /but a\.test\.ts shows it/,
  ],
  ["an unknown verdict", { exceptions: "event\tFailedMount\tsame\tyes" }, /the verdict is one of/],
  ["an exception for an unknown item", { exceptions: "event\tNope\tabsent\tx" }, /v1\.36 has no event Nope/],
];
for (const [name, input, want] of wrong)
  test(`${name} is a problem`, () => {
    assert.ok(
      problemsOf(input).some((problem) => want.test(problem)),
      problemsOf(input).join("\n"),
    );
  });

test("a flag is as its field is, and a gate that the kubelet does not read is the same", () => {
  const { rows } = compare({
    reference,
    exceptions: parseExceptions("kind\tname\tverdict\treason\nfield\tmaxPods\tdifferent\tADR 1\n"),
    files: new Map([["a.test.ts", claiming("event FailedMount, gate NodeSwap=true")]]),
    sources: "FailedMount NodeSwap",
    flagFields: new Map([["max-pods", "maxPods"]]),
  });
  const verdicts = Object.fromEntries(rows.map(({ name, verdict }) => [name, verdict]));
  assert.deepEqual(verdicts, {
    FailedMount: "same",
    maxPods: "different",
    "max-pods": "different",
    "NodeSwap=true": "same",
    CSIMigration: "same",
  });
  const page = renderParity(rows);
  assert.match(page, /\| \[Event reasons\]\(#event-reasons\) \| 1 \| 1 \| 0 \| 0 \|/);
  assert.match(page, /\| `maxPods` \| different \| ADR 1 \|/);
  assert.match(page, /\| `FailedMount` \| same \| \[a\.test\.ts\]\(\.\.\/a\.test\.ts\) \|/);
});
