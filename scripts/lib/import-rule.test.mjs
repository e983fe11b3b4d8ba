import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { checkImports } from "./import-rule.mjs";

const table = [
  ["app may import a component", "src/app/a.ts", 'import { x } from "../pipeline/pleg/pleg.ts";', undefined],
  [
    "a component may import base",
    "src/pipeline/pleg/a.ts",
    'import { x } from "../../base/clock.ts";',
    undefined,
  ],
  ["a component may import itself", "src/pods/images/a.ts", 'import { x } from "./b.ts";', undefined],
  ["packages are not judged", "src/base/a.ts", 'import { parse } from "yaml";', undefined],
  ["config may import quantities", "src/config/a.ts", 'import { q } from "../model/quantity.ts";', undefined],
  [
    "config may not import the rest of model",
    "src/config/a.ts",
    'import { q } from "../model/pod.ts";',
    /one layer/,
  ],
  ["model may not import config", "src/model/a.ts", 'import { q } from "../config/schema.ts";', /one layer/],
  [
    "base imports nothing above it",
    "src/base/a.ts",
    'import { x } from "../model/pod.ts";',
    /down only: base is below model/,
  ],
  [
    "rooms have components",
    "src/pipeline/pleg/a.ts",
    'import { x } from "../sync-loop/b.ts";',
    /pipeline\/pleg and pipeline\/sync-loop/,
  ],
  [
    "also from room to room",
    "src/pods/images/a.ts",
    'import type { x } from "../../resources/qos/b.ts";',
    /one layer/,
  ],
  ["also single folders", "src/server/a.ts", 'import { x } from "../local/b.ts";', /server and local/],
  ["nobody imports cli", "src/app/a.ts", 'import { x } from "../cli/main.ts";', /down only/],
  [
    "state may use the types of clients",
    "src/state/a.ts",
    'import type { x } from "../clients/cri/cri.ts";',
    undefined,
  ],
  ["but not their code", "src/state/a.ts", 'import { x } from "../clients/cri/cri.ts";', /one layer/],
  ["dynamic imports count", "src/model/a.ts", 'const x = await import("../app/b.ts");', /down only/],
  ["export from counts", "src/model/a.ts", 'export * from "../app/b.ts";', /down only/],
  [
    "imports over several lines count",
    "src/model/a.ts",
    'import {\n  x,\n  y,\n} from "../app/b.ts";',
    /down only/,
  ],
  ["import for effect counts", "src/model/a.ts", 'import "../app/b.ts";', /down only/],
  [
    "tests may import test helpers",
    "src/local/a.test.ts",
    'import { x } from "../../test/node/test-node.ts";',
    undefined,
  ],
  ["source may not", "src/local/a.ts", 'import { x } from "../../test/node/test-node.ts";', /outside of src/],
  ["tests follow the layers", "src/base/a.test.ts", 'import { x } from "../model/pod.ts";', /down only/],
  ["an unknown folder is named", "src/helpers/a.ts", "", /in no layer/],
];

for (const [rule, file, text, expected] of table) {
  test(`import rule: ${rule}`, () => {
    const problems = checkImports(file, `// first line\n${text}\n`);
    if (expected === undefined) return assert.deepEqual(problems, []);
    assert.equal(problems.length, 1);
    assert.match(problems[0].message, expected);
    assert.equal(problems[0].line, text === "" ? 1 : 2);
  });
}

test("import rule: the command names file and line and fails", () => {
  const root = mkdtempSync(join(tmpdir(), "import-rule-"));
  try {
    mkdirSync(join(root, "src/base"), { recursive: true });
    writeFileSync(join(root, "src/base/clock.ts"), 'export {};\nimport { x } from "../model/pod.ts";\n');
    const script = new URL("../check-imports.mjs", import.meta.url).pathname;
    const done = spawnSync(process.execPath, [script, root], { encoding: "utf8" });
    assert.equal(done.status, 1);
    assert.match(done.stderr, /^src\/base\/clock\.ts:2: imports go down only/);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
});
