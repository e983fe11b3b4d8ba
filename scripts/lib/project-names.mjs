// Names that documents may use: the paths of the project, and the names and strings in its sources.
import { readdirSync, readFileSync } from "node:fs";
import { declaredNames, readSource } from "./source-names.mjs";

const ignored = new Set([".git", "node_modules", "dist", ".cache"]);

/** `root` is the URL of the project's folder. */
export function readProject(root) {
  const read = (file) => readFileSync(new URL(file, root), "utf8");
  const paths = new Set(["."]);
  walk(root, "", paths);
  const project = {
    paths,
    names: new Set(),
    members: new Map(),
    literals: new Set(),
    scripts: new Set(),
    headings: (file) => (file.endsWith(".md") ? headingsOf(read(file)) : new Set()),
    read,
  };
  for (const file of paths) {
    if (file === "package.json") project.scripts = new Set(Object.keys(JSON.parse(read(file)).scripts ?? {}));
    if (file.endsWith(".proto")) for (const [word] of read(file).matchAll(/\w+/g)) project.names.add(word);
    if (/^(?:src|test|scripts)\/.*\.(?:tsx?|mjs)$/.test(file)) addSource(project, read(file));
  }
  for (const text of kubernetesTypes(root)) addSource(project, text);
  return project;
}

function addSource(project, text) {
  const { code, literals } = readSource(text);
  const { names, members } = declaredNames(code);
  for (const name of names) project.names.add(name);
  for (const literal of literals) project.literals.add(literal);
  for (const [name, own] of members)
    project.members.set(name, new Set([...(project.members.get(name) ?? []), ...own]));
}

/** Objects of the Kubernetes API that we do not serve have names too. */
function kubernetesTypes(root) {
  const folder = new URL("node_modules/kubernetes-types/", root);
  try {
    return readdirSync(folder, { recursive: true })
      .filter((file) => file.endsWith(".d.ts"))
      .map((file) => readFileSync(new URL(file, folder), "utf8"));
  } catch (error) {
    if (error.code === "ENOENT") return [];
    throw error;
  }
}

function walk(root, folder, paths) {
  for (const entry of readdirSync(new URL(folder, root), { withFileTypes: true })) {
    if (ignored.has(entry.name)) continue;
    paths.add(folder + entry.name);
    if (entry.isDirectory()) walk(root, `${folder}${entry.name}/`, paths);
  }
}

/** Anchors as GitHub generates them. */
function headingsOf(text) {
  const titles = [...text.matchAll(/^#+ +(.*)$/gm)].map(([, title]) => title.toLowerCase());
  return new Set(titles.map((title) => title.replace(/[^\p{L}\p{N} _-]/gu, "").replaceAll(" ", "-")));
}
