// The export rule (CONTRIBUTING.md): each export of a source is imported by production code.
import { readdirSync, readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { checkExports } from "./lib/export-rule.mjs";

const root = process.argv[2] ? pathToFileURL(`${process.argv[2]}/`) : new URL("../", import.meta.url);
const files = new Map();
for (const folder of ["src", "test", "scripts"])
  for (const name of readdirSync(new URL(`${folder}/`, root), { recursive: true })) {
    const file = `${folder}/${name}`;
    if (/\.(?:tsx?|mjs)$/.test(file) && !file.startsWith("src/lib/gen/"))
      files.set(file, readFileSync(new URL(file, root), "utf8"));
  }
const problems = checkExports(files);
for (const { file, line, message } of problems) console.error(`${file}:${line}: ${message}`);
if (problems.length > 0) {
  console.error(`${problems.length} export${problems.length === 1 ? "" : "s"} that violate the export rule`);
  process.exitCode = 1;
}
