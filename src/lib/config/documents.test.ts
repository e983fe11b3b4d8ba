import assert from "node:assert/strict";
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { loadConfiguration } from "./load.ts";

const root = join(import.meta.dirname, "../../..");
const dir = mkdtempSync(join(tmpdir(), "documents-"));
after(() => rmSync(dir, { recursive: true }));

const examples = globSync(["*.md", "docs/*.md"], { cwd: root }).flatMap((file) =>
  [...readFileSync(join(root, file), "utf8").matchAll(/```yaml\n([^`]*)```/g)]
    .map(([, text = ""]) => ({ file, text }))
    .filter(({ text }) => text.includes("kind: KubeletConfiguration")),
);

test("the documents have examples of configurations", () => {
  const files = new Set(examples.map(({ file }) => file));
  for (const file of ["SECURITY.md", "docs/JOIN-A-CLUSTER.md"]) assert.ok(files.has(file), file);
});

for (const [i, { file, text }] of examples.entries())
  test(`the configuration in ${file} is valid, and all of it has an effect`, async () => {
    const path = join(dir, `${i}.yaml`);
    writeFileSync(path, text);
    const loaded = await loadConfiguration({ args: ["--config", path] });
    assert.deepEqual(loaded.warnings, []);
  });
