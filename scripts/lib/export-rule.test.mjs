import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { checkExports } from "./export-rule.mjs";

const plan = "export function plan(): void {}";
const uses = 'import { plan } from "./plan.ts";';
const rows = [
  ["production imports it", { "src/a/b.ts": uses }],
  [
    "production imports it from another folder",
    { "src/c/b.ts": 'import { plan as it } from "../a/plan.ts";' },
  ],
  ["production imports all", { "src/a/b.ts": 'import * as all from "./plan.ts";\nall.plan();' }],
  [
    "production imports others of all",
    { "src/a/b.ts": 'import * as all from "./plan.ts";\nall.other();' },
    "nothing uses",
  ],
  ["production imports it when needed", { "src/a/b.ts": '(await import("./plan.ts")).plan();' }],
  ["production imports it by a pattern", { "src/a/b.ts": 'const { plan: it } = await import("./plan.ts");' }],
  [
    "production passes it on",
    { "src/a/b.ts": 'export { plan } from "./plan.ts";', "src/c.ts": 'import { plan } from "./a/b.ts";' },
  ],
  ["a script imports it", { "scripts/x.mjs": 'import { plan } from "../src/a/plan.ts";' }],
  ["a test imports it", { "src/a/plan.test.ts": uses }, "only tests use"],
  ["a fake imports it", { "src/a/fake-a.ts": uses, "src/a/fixtures.ts": uses }, "only tests use"],
  [
    "a helper of tests imports it",
    { "test/x.ts": 'import { plan } from "../src/a/plan.ts";' },
    "only tests use",
  ],
  [
    "a comment and a string name it",
    { "src/a/b.ts": `// ${uses}\nconst text = \`${uses}\`;` },
    "nothing uses",
  ],
  ["a file of that name elsewhere is imported", { "src/c/b.ts": uses }, "nothing uses"],
];
for (const [what, files, expected] of rows) {
  test(`export rule: ${what}`, () => {
    const problems = checkExports(new Map(Object.entries({ "src/a/plan.ts": `\n${plan}\n`, ...files })));
    const wanted = expected ? [{ file: "src/a/plan.ts", line: 2, message: `${expected} "plan"` }] : [];
    assert.deepEqual(problems, wanted);
  });
}

const single = [
  ["a name that the file itself spreads", `${plan}\nf(...plan());`, true, []],
  ["a field of the same name", `${plan}\nx.plan();`, true, ['only tests use "plan"']],
  ["a name that a test imports and the file itself uses", `${plan}\nplan();`, true, []],
  [
    "a name that only the file itself uses",
    `${plan}\nplan();`,
    false,
    ['nothing imports "plan": it needs no export'],
  ],
  ["a type that only the file itself uses", "export interface Plan {}\nconst plan: Plan = {};", false, []],
  ["a type that is not used", "export type Plan = string;", false, ['nothing uses "Plan"']],
  [
    "a re-export that is not used",
    'export { type A, b as c } from "./x.ts";',
    false,
    ['nothing uses "A"', 'nothing uses "c"'],
  ],
];
for (const [what, text, tested, expected] of single) {
  test(`export rule: ${what}`, () => {
    const files = new Map([["src/a/plan.ts", text]]);
    if (tested) files.set("src/a/plan.test.ts", uses);
    assert.deepEqual(
      checkExports(files).map(({ message }) => message),
      expected,
    );
  });
}

test("export rule: fakes and fixtures are for tests", () => {
  const files = [
    "src/a/fake-api.ts",
    "src/a/fixtures.ts",
    "src/a/kube-fixtures.ts",
    "src/a/list-fake-server.ts",
  ];
  assert.deepEqual(checkExports(new Map(files.map((file) => [file, plan]))), []);
});

test("export rule: the command names file and line and fails", () => {
  const root = mkdtempSync(join(tmpdir(), "export-rule-"));
  try {
    for (const folder of ["src", "test", "scripts"]) mkdirSync(join(root, folder));
    writeFileSync(join(root, "src/plan.ts"), plan);
    const script = new URL("../check-exports.mjs", import.meta.url).pathname;
    const done = spawnSync(process.execPath, [script, root], { encoding: "utf8" });
    assert.equal(done.status, 1);
    assert.match(done.stderr, /^src\/plan\.ts:1: nothing uses "plan"/);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
});
