// The import rule of docs/architecture/code-map.md: products share libraries only, imports go down only, and
// components of one layer import only types of each other.
import { readdirSync, readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { checkImports } from "./lib/import-rule.mjs";

const root = process.argv[2] ? pathToFileURL(`${process.argv[2]}/`) : new URL("../", import.meta.url);
const files = readdirSync(new URL("src/", root), { recursive: true })
  .filter((file) => /\.tsx?$/.test(file) && !file.startsWith("lib/gen/"))
  .map((file) => `src/${file}`)
  .sort();
const problems = files.flatMap((file) => checkImports(file, readFileSync(new URL(file, root), "utf8")));
for (const { file, line, message } of problems) console.error(`${file}:${line}: ${message}`);
if (problems.length > 0) {
  console.error(`${problems.length} import${problems.length === 1 ? "" : "s"} against the rule`);
  process.exitCode = 1;
}
