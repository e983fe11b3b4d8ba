// The walk rule of docs/architecture/code-map.md: one module walks trees of files.
import { readdirSync, readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { checkWalks, unusedExceptions } from "./lib/walk-rule.mjs";

const root = process.argv[2] ? pathToFileURL(`${process.argv[2]}/`) : new URL("../", import.meta.url);
const files = readdirSync(new URL("src/", root), { recursive: true })
  .filter((file) => /\.(?:[cm]?[jt]s|tsx)$/.test(file) && !file.startsWith("lib/gen/"))
  .map((file) => `src/${file}`)
  .sort()
  .map((file) => ({ file, text: readFileSync(new URL(file, root), "utf8") }));
const problems = files.flatMap(({ file, text }) => checkWalks(file, text));
for (const { file, line, message } of problems) console.error(`${file}:${line}: ${message}`);
const unused = unusedExceptions(files);
for (const { file, call } of unused)
  console.error(`scripts/lib/walk-rule.mjs: ${file} no longer needs an exception for ${call}`);
if (problems.length + unused.length > 0) {
  console.error(`${problems.length + unused.length} against the walk rule`);
  process.exitCode = 1;
}
