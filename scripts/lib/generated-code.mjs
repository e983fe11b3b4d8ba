import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { apiTypes } from "./api-types.mjs";
import { root } from "./node-packages.mjs";
import { runTool } from "./run-tool.mjs";

/** Generates src/lib/gen again elsewhere and compares. Returns the difference, or undefined if there is none. */
export async function checkGeneratedCode(scratch) {
  const problem = await runTool("node_modules/@bufbuild/buf/bin/buf", ["generate", "--output", scratch]);
  if (problem) return problem;
  const folder = "src/lib/gen/";
  const fresh = list(join(scratch, folder));
  for (const [path, text] of apiTypes()) fresh.set(path.slice(folder.length), text);
  const ours = list(join(root, folder));
  const differing = [...new Set([...fresh.keys(), ...ours.keys()])].filter(
    (file) => fresh.get(file) !== ours.get(file),
  );
  if (differing.length === 0) return undefined;
  return `src/lib/gen is outdated: proto/ or src/lib/schema have changed; run "npm run gen". Differs: ${differing.join(", ")}`;
}

function list(dir) {
  const files = globSync("**/*.{js,ts}", { cwd: dir });
  return new Map(files.map((file) => [file, readFileSync(join(dir, file), "utf8")]));
}
