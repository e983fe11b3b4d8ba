import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { checkImports } from "./import-rule.mjs";

const table = [
  [
    "the composition root may import a component",
    "kubelet/agent/a.ts",
    "../pipeline/pleg/pleg.ts",
    undefined,
  ],
  ["a component may import a library", "kubelet/pipeline/pleg/a.ts", "../../../lib/base/clock.ts", undefined],
  ["a component may import the state", "kubelet/pipeline/pleg/a.ts", "../../state/b.ts", undefined],
  ["a component may import itself", "kubelet/pods/images/a.ts", "./b.ts", undefined],
  ["packages are not checked", "lib/base/a.ts", "yaml", undefined],
  ["config may import quantities", "lib/config/a.ts", "../model/quantity.ts", undefined],
  ["config may not import the rest of model", "lib/config/a.ts", "../model/pod.ts", /one layer/],
  ["model may not import config", "lib/model/a.ts", "../config/schema.ts", /one layer/],
  ["base is at the bottom", "lib/base/a.ts", "../model/pod.ts", /down only: lib\/base is below lib\/model/],
  [
    "components of one folder do not import values of each other",
    "kubelet/pipeline/pleg/a.ts",
    "../sync-loop/b.ts",
    /pipeline\/pleg and kubelet\/pipeline\/sync-loop/,
  ],
  [
    "components of two folders do not import values of each other",
    "kubelet/pods/images/a.ts",
    "../../resources/qos/b.ts",
    /one layer/,
  ],
  [
    "single folders of one layer do not import values of each other",
    "kubelet/server/a.ts",
    "../certs/b.ts",
    /server and kubelet\/certs/,
  ],
  ["a component does not import the composition root", "kubelet/node/a.ts", "../agent/b.ts", /down only/],
  ["nothing imports cli", "kubelet/agent/a.ts", "../../cli/main.ts", /down only/],
  ["cli may import each component", "cli/a.ts", "../apiserver/b.ts", undefined],
  [
    "the kubelet does not import the API server",
    "kubelet/agent/a.ts",
    "../../apiserver/b.ts",
    /kubelet and apiserver/,
  ],
  [
    "the API server does not import the kubelet",
    "apiserver/a.ts",
    "../kubelet/state/b.ts",
    /apiserver and kubelet/,
  ],
  ["a library does not import a component", "lib/model/a.ts", "../../kubelet/state/b.ts", /down only/],
  ["an unknown folder is named", "helpers/a.ts", undefined, /in no layer/],
  ["a file outside of the components is named", "kubelet/a.ts", undefined, /in no layer/],
  ["tests may import test helpers", "single-node/a.test.ts", "../../test/node/test-node.ts", undefined],
  [
    "sources may not import test helpers",
    "single-node/a.ts",
    "../../test/node/test-node.ts",
    /outside of src/,
  ],
  ["tests follow the layers", "lib/base/a.test.ts", "../model/pod.ts", /down only/],
].map(([rule, file, to, expected]) => [rule, file, to ? `import { x } from "${to}";` : "", expected]);

const sibling = "../sync-loop/b.ts";
const types = [
  ["components of one layer may import types of each other", `import type { X } from "${sibling}";`],
  ["also in several lines", `import type {\n  X,\n  Y,\n} from "${sibling}";`],
  ["components of one layer may export types of each other", `export type { X } from "${sibling}";`],
  [
    "a statement that imports a value, too, is not erased",
    `import { type X, y } from "${sibling}";`,
    /one layer/,
  ],
  [
    "a statement that only lists types still loads the file",
    `import { type X } from "${sibling}";`,
    /one layer/,
  ],
  ["a value named type is a value", `import { type } from "${sibling}";`, /one layer/],
  [
    "a product imports the types of the contract of another",
    'import type { X } from "../../../console/console-node.ts";',
  ],
  [
    "a product imports only types of a contract",
    'import { x } from "../../../console/console-node.ts";',
    /separate components/,
  ],
  [
    "products do not import other types of each other",
    'import type { X } from "../../../apiserver/b.ts";',
    /separate components/,
  ],
].map(([rule, text, expected]) => [rule, "kubelet/pipeline/pleg/a.ts", text, expected]);

const above = "../../kubelet/state/b.ts";
const forms = [
  ["dynamic imports count", `const x = await import("${above}");`],
  ["export from is an import", `export * from "${above}";`],
  ["imports that span several lines count", `import {\n  x,\n  y,\n} from "${above}";`],
  ["a side-effect import is an import", `import "${above}";`],
  ["types are not imported from above either", `import type { x } from "${above}";`],
].map(([rule, text]) => [rule, "lib/model/a.ts", text, /down only/]);

for (const [rule, file, text, expected] of [...table, ...types, ...forms]) {
  test(`import rule: ${rule}`, () => {
    const problems = checkImports(`src/${file}`, `// first line\n${text}\n`);
    if (expected === undefined) return assert.deepEqual(problems, []);
    assert.equal(problems.length, 1);
    assert.match(problems[0].message, expected);
    assert.equal(problems[0].line, text === "" ? 1 : 2);
  });
}

test("import rule: the command names file and line and fails", () => {
  const root = mkdtempSync(join(tmpdir(), "import-rule-"));
  try {
    mkdirSync(join(root, "src/lib/base"), { recursive: true });
    writeFileSync(join(root, "src/lib/base/clock.ts"), 'export {};\nimport { x } from "../model/pod.ts";\n');
    const script = new URL("../check-imports.mjs", import.meta.url).pathname;
    const done = spawnSync(process.execPath, [script, root], { encoding: "utf8" });
    assert.equal(done.status, 1);
    assert.match(done.stderr, /^src\/lib\/base\/clock\.ts:2: imports go down only/);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
});
