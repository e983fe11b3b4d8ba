// docs/PARITY.md is complete and current: each item of kubelet v1.36 is shown by a test or has a reason. With --write, writes it.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { compare, parseExceptions, parseReference, renderParity } from "./lib/parity.mjs";

const root = new URL("../", import.meta.url);
const read = (path) => readFileSync(new URL(path, root), "utf8");
const list = (dir) =>
  readdirSync(new URL(`${dir}/`, root), { recursive: true })
    .map((file) => `${dir}/${file}`)
    .filter((file) => /\.(?:ts|tsx|mjs)$/.test(file) && !file.startsWith("src/lib/gen/"))
    .sort();
const isTest = (file) => /\.test\.ts$/.test(file) || file.startsWith("test/");
const src = list("src");
const flagFields = new Map();
for (const file of src.filter((path) => path.startsWith("src/lib/config/flags/") && !isTest(path)))
  for (const [, name, path] of read(file).matchAll(/\bfield\(\s*"([\w-]+)",\s*"[\w:]+",\s*"([\w.]+)"/g))
    flagFields.set(name, path);
const { rows, problems } = compare({
  reference: parseReference(read("test/parity/reference.tsv")),
  exceptions: parseExceptions(read("test/parity/exceptions.tsv")),
  files: new Map([...src.filter(isTest), ...list("test")].map((file) => [file, read(file)])),
  sources: src
    .filter((file) => !isTest(file))
    .map(read)
    .join("\n"),
  flagFields,
});
const page = renderParity(rows);
if (process.argv.includes("--write")) writeFileSync(new URL("docs/PARITY.md", root), page);
else if (read("docs/PARITY.md") !== page)
  problems.push("docs/PARITY.md is not current: node scripts/check-parity.mjs --write");
for (const problem of problems) console.error(problem);
if (problems.length > 0) {
  console.error(`${problems.length} against the parity table`);
  process.exitCode = 1;
}
