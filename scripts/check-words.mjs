// Words to avoid and British spellings, in identifiers, comments, strings and documents.
import { globSync, readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { checkWords, isPending } from "./lib/word-rule.mjs";

const root = process.argv[2] ? pathToFileURL(`${process.argv[2]}/`) : new URL("../", import.meta.url);
const patterns = ["*.md", "{docs,examples}/**/*.md", "{src,test,scripts}/**/*.{ts,tsx,mjs,md}"];
const problems = globSync(patterns, {
  cwd: root,
  exclude: ["src/lib/gen/**", "test/fixtures/**", "**/node_modules/**"],
})
  .filter((file) => !isPending(file))
  .sort()
  .flatMap((file) => checkWords(file, readFileSync(new URL(file, root), "utf8")));
for (const { file, line, message } of problems) console.error(`${file}:${line}: ${message}`);
if (problems.length > 0) {
  console.error(`${problems.length} word${problems.length === 1 ? "" : "s"} to avoid, see docs/STYLE.md`);
  process.exitCode = 1;
}
