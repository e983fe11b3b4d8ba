// No claim of parity is false: an item of kubelet v1.36 is shown by a test, has a reason or is unclaimed. With --write, writes
// docs/PARITY.md; with --current, as in `npm test`, it has to be current; with --unclaimed, prints what is unclaimed.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import {
  compare,
  configFolder,
  metricExceptions,
  parseExceptions,
  parseMetrics,
  parseReference,
  renderParity,
} from "./lib/parity.mjs";

/** Lower it with the number of unclaimed items in docs/PARITY.md; it never rises. */
const unclaimedLimit = 0;

const root = new URL("../", import.meta.url);
const read = (path) => readFileSync(new URL(path, root), "utf8");
const list = (dir) =>
  readdirSync(new URL(`${dir}/`, root), { recursive: true })
    .map((file) => `${dir}/${file}`)
    .filter((file) => /\.(?:ts|tsx|mjs)$/.test(file) && !file.startsWith("src/lib/gen/"))
    .sort();
const isTest = (file) => /\.test\.ts$/.test(file) || file.startsWith("test/");
const src = list("src");
const textOf = (isWanted) =>
  src
    .filter((file) => !isTest(file) && isWanted(file))
    .map(read)
    .join("\n");
const flagFields = new Map();
for (const file of src.filter((path) => path.startsWith("src/lib/config/flags/") && !isTest(path)))
  for (const [, name, path] of read(file).matchAll(/\bfield\(\s*"([\w-]+)",\s*"[\w:]+",\s*"([\w.]+)"/g))
    flagFields.set(name, path);
const { rows, problems } = compare({
  reference: [
    ...parseReference(read("test/parity/reference.tsv")),
    ...parseMetrics(read("test/fixtures/stats/metrics.txt")),
  ],
  exceptions: [
    ...parseExceptions(read("test/parity/exceptions.tsv")),
    ...metricExceptions(read("docs/METRICS.md")),
  ],
  files: new Map([...src.filter(isTest), ...list("test")].map((file) => [file, read(file)])),
  sources: textOf((file) => !file.startsWith(configFolder)),
  configSources: textOf((file) => file.startsWith(configFolder)),
  flagFields,
  unclaimedLimit,
});
const page = renderParity(rows);
if (process.argv.includes("--write")) writeFileSync(new URL("docs/PARITY.md", root), page);
else if (process.argv.includes("--current") && read("docs/PARITY.md") !== page)
  problems.push("docs/PARITY.md is not current: node scripts/check-parity.mjs --write");
if (process.argv.includes("--unclaimed"))
  for (const { kind, name } of rows.filter(({ verdict }) => verdict === "unclaimed"))
    console.log(`${kind} ${name}`);
for (const problem of problems) console.error(problem);
if (problems.length > 0) {
  console.error(`${problems.length} against the parity table`);
  process.exitCode = 1;
}
