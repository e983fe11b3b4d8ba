// The event rule of docs/architecture/code-map.md: parts of the kubelet reach each other through the event table only.
import { readdirSync, readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { checkEvents, unusedExceptions } from "./lib/event-rule.mjs";

const root = process.argv[2] ? pathToFileURL(`${process.argv[2]}/`) : new URL("../", import.meta.url);
const files = readdirSync(new URL("src/kubelet/", root), { recursive: true })
  .filter((file) => file.endsWith(".ts") && !/\.test\.ts$|(^|\/)(fake-[\w-]+|fixtures)\.ts$/.test(file))
  .map((file) => `src/kubelet/${file}`)
  .sort()
  .map((file) => ({ file, text: readFileSync(new URL(file, root), "utf8") }));
const problems = files.flatMap(({ file, text }) => checkEvents(file, text));
for (const { file, line, message } of problems) console.error(`${file}:${line}: ${message}`);
const unused = unusedExceptions(files);
for (const { file, name } of unused)
  console.error(`scripts/lib/event-rule.mjs: ${file} no longer needs an exception for ${name}`);
if (problems.length + unused.length > 0) {
  console.error(`${problems.length + unused.length} against the event rule`);
  process.exitCode = 1;
}
