import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { checkDependencies, checkExports, checkFiles, checkMembers } from "./export-rule.mjs";

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

test("export rule: production code imports every file", () => {
  const files = {
    "src/cli/main.ts": 'import "./used.ts";',
    "src/cli/used.ts": 'new Worker(new URL("./worker.ts", import.meta.url));',
    "src/cli/worker.ts": "",
    "src/cli/tested.ts": "",
    "src/cli/tested.test.ts": 'import { a } from "./tested.ts";',
    "src/cli/lost.ts": "",
    "src/cli/fake-x.ts": "",
    "src/cli/style.d.ts": "",
  };
  assert.deepEqual(checkFiles(new Map(Object.entries(files))), [
    { file: "src/cli/tested.ts", line: 1, message: "only tests import this file" },
    { file: "src/cli/lost.ts", line: 1, message: "nothing imports this file" },
  ]);
});

test("export rule: sources or scripts import every dependency", () => {
  const files = {
    "src/a.ts": 'import { x } from "@scope/used/part";\nimport "./b.ts";',
    "scripts/b.mjs": 'const { y } = await import("used-later");',
    "test/c.ts": 'import "only-tests";',
  };
  const dependencies = { "@scope/used": "1", "used-later": "1", "only-tests": "1" };
  assert.deepEqual(checkDependencies(new Map(Object.entries(files)), { dependencies }), [
    { file: "package.json", line: 1, message: 'nothing imports the dependency "only-tests"' },
  ]);
});

test("export rule: production code uses every member of a class", () => {
  const files = {
    "src/a.ts": [
      "export class A {",
      "  used(): void {",
      "  }",
      "  async tested(): Promise<void> {",
      "  }",
      "  override inherited(): void {",
      "  }",
      "  long<T>(",
      "    a: T,",
      "  ): void {",
      "  }",
      "}",
      "new A().used();",
    ].join("\n"),
    "src/a.test.ts": "new A().tested();",
  };
  assert.deepEqual(
    checkMembers(new Map(Object.entries(files))).map(({ line, message }) => `${line} ${message}`),
    [
      '4 production code does not use the member "tested"',
      '8 production code does not use the member "long"',
    ],
  );
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
