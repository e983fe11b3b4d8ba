// The export rule (CONTRIBUTING.md): production code imports each export, each source file and each dependency.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { checkDependencies, checkExports, checkFiles, checkMembers } from "./lib/export-rule.mjs";

const root = process.argv[2] ? pathToFileURL(`${process.argv[2]}/`) : new URL("../", import.meta.url);
const readPackage = (url) => (existsSync(url) ? JSON.parse(readFileSync(url, "utf8")) : {});
const files = new Map();
for (const folder of ["src", "test", "scripts"])
  for (const name of readdirSync(new URL(`${folder}/`, root), { recursive: true })) {
    const file = `${folder}/${name}`;
    if (/\.(?:tsx?|mjs)$/.test(file) && !file.startsWith("src/lib/gen/"))
      files.set(file, readFileSync(new URL(file, root), "utf8"));
  }
const problems = [
  ...checkExports(files),
  ...checkFiles(files),
  ...checkMembers(files),
  ...checkDependencies(files, readPackage(new URL("package.json", root))),
];
for (const { file, line, message } of problems) console.error(`${file}:${line}: ${message}`);
if (problems.length > 0) {
  console.error(`${problems.length} violation${problems.length === 1 ? "" : "s"} of the export rule`);
  process.exitCode = 1;
}
