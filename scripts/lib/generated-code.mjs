import { globSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { apiTypes } from "./api-types.mjs";
import { root } from "./node-packages.mjs";
import { runTool } from "./run-tool.mjs";

const folder = "src/lib/gen/";

/** Writes the generated code to its folder below target. Returns the output of the generator if it failed. */
export async function generateCode(target) {
  const problem = await runTool("node_modules/@bufbuild/buf/bin/buf", ["generate", "--output", target]);
  if (problem) return problem;
  for (const path of globSync(`${folder}**/*_pb.{js,d.ts}`, { cwd: target })) {
    const file = join(target, path);
    writeFileSync(file, withoutOrigins(readFileSync(file, "utf8")));
  }
  for (const [path, text] of apiTypes()) {
    mkdirSync(dirname(join(target, path)), { recursive: true });
    writeFileSync(join(target, path), text);
  }
}

/** Generates src/lib/gen again elsewhere and compares. Returns the difference, or undefined if there is none. */
export async function checkGeneratedCode(scratch) {
  const problem = await generateCode(scratch);
  if (problem) return problem;
  const fresh = list(join(scratch, folder));
  const ours = list(join(root, folder));
  const differing = [...new Set([...fresh.keys(), ...ours.keys()])].filter(
    (file) => fresh.get(file) !== ours.get(file),
  );
  if (differing.length === 0) return undefined;
  return `src/lib/gen is outdated: proto/ or src/lib/schema have changed; run "npm run gen". Differs: ${differing.join(", ")}`;
}

/** The text without the comments that repeat each declaration as in proto/. Comments written in proto/ stay. */
function withoutOrigins(text) {
  return text
    .replace(/^ +\* (?:@generated from|Describes the|Use `create\().*\n/gm, "")
    .replace(/^ *\/\*\*\n(?: +\*\n)* +\*\/\n/gm, "")
    .replace(/(?: +\*\n)+(?= +\*\/)/g, "")
    .replace(/^( *)\/\*\*\n +\* (.*)\n +\*\/$/gm, "$1/** $2 */")
    .replace(/\n\n(?= )/g, "\n")
    .replace(/(?<!";)\n\n(?=export (?:declare )?const)/g, "\n");
}

function list(dir) {
  const files = globSync("**/*.{js,ts}", { cwd: dir });
  return new Map(files.map((file) => [file, readFileSync(join(dir, file), "utf8")]));
}
