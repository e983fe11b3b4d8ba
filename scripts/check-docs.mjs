// The rules for documents and comments (CONTRIBUTING.md): they name only functions, classes, files and folders that exist.
import { pathToFileURL } from "node:url";
import { checkComments, checkDocument, checkFolders, checkIndexes } from "./lib/document-rule.mjs";
import { readProject } from "./lib/project-names.mjs";

const root = process.argv[2] ? pathToFileURL(`${process.argv[2]}/`) : new URL("../", import.meta.url);
const project = readProject(root);
const documents = [...project.paths]
  // The parity table also has the names of kubelet v1.36 that no source has; scripts/check-parity.mjs checks it.
  .filter((file) => file.endsWith(".md") && file !== "docs/PARITY.md")
  .sort((a, b) => a.localeCompare(b));
/** These files contain names of files that do not exist, as examples. */
const examples = /\.test\.|^scripts\/lib\/document-rule\.mjs$|^src\/lib\/gen\//;
const sources = [...project.paths].filter(
  (file) => /^(?:src|test|scripts)\/.*\.(?:tsx?|mjs)$/.test(file) && !examples.test(file),
);
const problems = [
  ...documents.flatMap((file) => checkDocument(file, project.read(file), project)),
  ...sources.flatMap((file) => checkComments(file, project.read(file), project)),
  ...checkFolders(project),
  ...checkIndexes(project),
];
for (const { file, line, message } of problems) console.error(`${file}:${line}: ${message}`);
if (problems.length > 0) {
  console.error(`${problems.length} problem${problems.length === 1 ? "" : "s"} in documents`);
  process.exitCode = 1;
}
