// npm run gen: src/lib/gen, from proto/ and from src/lib/schema.
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { apiTypes } from "./lib/api-types.mjs";
import { root } from "./lib/node-packages.mjs";
import { runTool } from "./lib/run-tool.mjs";

const problem = await runTool("node_modules/@bufbuild/buf/bin/buf", ["generate"], { show: true });
if (problem) process.exitCode = 1;
for (const [path, text] of apiTypes()) {
  mkdirSync(dirname(root + path), { recursive: true });
  writeFileSync(root + path, text);
}
