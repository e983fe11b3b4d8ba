import assert from "node:assert/strict";
import { test } from "node:test";
import {
  claimsOf,
  compare,
  metricExceptions,
  parseExceptions,
  parseMetrics,
  parseReference,
  renderParity,
} from "./parity.mjs";

const reference = parseReference(
  "kind\tname\tnote\nevent\tFailedMount\t\nfield\tmaxPods\t\nflag\tmax-pods\t\ngate\tNodeSwap=true\t\ngate\tCSIMigration\tnot read by the kubelet\n",
);
const claiming = (claim) =>
  `import { x } from "y";\n\n// parity: ${claim}\ntest("an unmountable volume is reported", () => mount("FailedMount", { maxPods: 1, NodeSwap }));\n`;
const problemsOf = ({
  claim = "event FailedMount, field maxPods, flag *, gate NodeSwap=true",
  exceptions = "",
  sources = "FailedMount maxPods NodeSwap",
  text = claiming(claim),
  unclaimedLimit = 0,
}) =>
  compare({
    reference,
    exceptions: parseExceptions(`kind\tname\tverdict\treason\n${exceptions}`),
    files: new Map([["a.test.ts", text]]),
    sources,
    configSources: "",
    flagFields: new Map([["max-pods", "maxPods"]]),
    unclaimedLimit,
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

test("as many unclaimed items as the limit are no problem", () => {
  assert.deepEqual(problemsOf({ claim: "event FailedMount", unclaimedLimit: 3 }), []);
});

const wrong = [
  [
    "one more unclaimed item than the limit",
    { claim: "event FailedMount", unclaimedLimit: 2 },
    /^3 items are unclaimed; at most 2 may be/,
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

test("a flag that sets its field is as the field is, and a gate that the kubelet does not read is the same", () => {
  const { rows } = compare({
    reference,
    exceptions: parseExceptions("kind\tname\tverdict\treason\nfield\tmaxPods\tdifferent\tADR 1\n"),
    files: new Map([["a.test.ts", claiming("event FailedMount, gate NodeSwap=true, flag *")]]),
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
  assert.match(page, /\| \[Event reasons\]\(#event-reasons\) \| 1 \| 1 \| 0 \| 0 \| 0 \|/);
  assert.match(page, /\| `maxPods` \| different \| ADR 1 \|/);
  assert.match(page, /\| `FailedMount` \| same \| \[a\.test\.ts\]\(\.\.\/a\.test\.ts\) \|/);
});

test("a field may be shown by the flag that sets it", () => {
  const text = '// parity: field maxPods\ntest("x", () => start("--max-pods=1"));\n';
  assert.deepEqual(problemsOf({ text, unclaimedLimit: 3 }), []);
});

test("a flag is unclaimed until a test shows that it sets its field", () => {
  const verdict = (claim) =>
    compare({
      reference,
      exceptions: [],
      files: new Map([["a.test.ts", claiming(claim)]]),
      sources: "maxPods",
      flagFields: new Map([["max-pods", "maxPods"]]),
      unclaimedLimit: 4,
    }).rows.find(({ name }) => name === "max-pods").verdict;
  assert.equal(verdict("field maxPods"), "unclaimed");
  assert.equal(verdict("field maxPods, flag *"), "same");
  assert.equal(verdict("flag *"), "unclaimed");
  assert.equal(verdict("flag max-pods"), "same");
});

test("a test of a field mentions its whole path", () => {
  const problems = (code) =>
    compare({
      reference: parseReference("kind\tname\tnote\nfield\tauthentication.anonymous.enabled\t\n"),
      exceptions: [],
      files: new Map([
        [
          "a.test.ts",
          `// parity: field authentication.anonymous.enabled\ntest("x", () => start(${code}));\n`,
        ],
      ]),
      sources: "enabled",
      flagFields: new Map([["anonymous-auth", "authentication.anonymous.enabled"]]),
      unclaimedLimit: 0,
    }).problems;
  assert.match(problems("{ enabled: true }").join(), /never mentions/);
  assert.deepEqual(problems("{ authentication: { anonymous: { enabled: true } } }"), []);
  assert.deepEqual(problems('"--anonymous-auth"'), []);
});

test("metrics that docs/METRICS.md gives a reason for are absent", () => {
  const page =
    "## /metrics\n| `a_total` | counter | - | yes |\n| `b_total` | counter | x, y | Counts what is not here. |\n";
  assert.deepEqual(metricExceptions(page), [
    {
      at: "docs/METRICS.md",
      kind: "metric",
      name: "/metrics b_total",
      verdict: "absent",
      reason: "Counts what is not here.",
    },
  ]);
});

test("the metrics of the reference are read with their pages", () => {
  assert.deepEqual(
    parseMetrics("endpoint /metrics\n  a_total counter -\nendpoint /metrics/slis\n  b gauge x\n").map(
      ({ name }) => name,
    ),
    ["/metrics a_total", "/metrics/slis b"],
  );
});

test("metric * claims the listed metrics only", () => {
  const { rows } = compare({
    reference: [
      ...parseReference("kind\tname\tnote\nmetric\t/metrics a\t\n"),
      ...parseMetrics("endpoint /metrics\n  b gauge x\n"),
    ],
    exceptions: [],
    files: new Map([["a.test.ts", '// parity: metric *\ntest("x", () => {});\n']]),
    sources: "",
    flagFields: new Map(),
    unclaimedLimit: 1,
  });
  assert.deepEqual(
    rows.map(({ verdict }) => verdict),
    ["unclaimed", "same"],
  );
});
