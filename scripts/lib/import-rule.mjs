import { posix } from "node:path";

/** From the top down. A folder with "/*" is a room of components: each folder in it is one. */
export const layers = [
  ["cli"],
  ["app"],
  [
    "server",
    "apiserver",
    "console",
    "pipeline/*",
    "pods/*",
    "resources/*",
    "node",
    "plugins",
    "certs",
    "stats",
    "local",
  ],
  ["clients", "host", "state"],
  ["gen", "model", "config", "schema"],
  ["base"],
];

/** Sideways imports that are meant: quantities and types are shared words. */
const allowed = [
  { from: "config", to: "model/quantity.ts" },
  { from: "config", to: "model/quantity-form.ts" },
  { from: "state", to: "clients/", typeOnly: true },
];

/** What is wrong with the imports of one file; `file` is its path from the project's root ("src/…"). */
export function checkImports(file, text) {
  const from = place(file);
  if (!from)
    return [
      { file, line: 1, message: `"${file}" is in no layer: add its folder to scripts/lib/import-rule.mjs` },
    ];
  const isTest = file.endsWith(".test.ts");
  return importsOf(text).flatMap(({ specifier, line, typeOnly }) => {
    if (!specifier.startsWith(".")) return [];
    const target = posix.normalize(posix.join(posix.dirname(file), specifier));
    const message = judge(from, target, isTest, typeOnly);
    return message ? [{ file, line, message: `${message} (imports "${specifier}")` }] : [];
  });
}

function judge(from, target, isTest, typeOnly) {
  if (!target.startsWith("src/")) {
    return isTest && target.startsWith("test/") ? undefined : "source does not import from outside of src/";
  }
  const to = place(target);
  if (!to) return `"${target}" is in no layer`;
  if (to.component === from.component || to.layer > from.layer) return undefined;
  const inside = target.slice("src/".length);
  const meant = allowed.some(
    (a) => a.from === from.component && inside.startsWith(a.to) && (typeOnly || !a.typeOnly),
  );
  if (meant) return undefined;
  if (to.layer < from.layer) return `imports go down only: ${from.component} is below ${to.component}`;
  return `${from.component} and ${to.component} are of one layer and do not import each other`;
}

/** The layer and component that a file belongs to. */
function place(file) {
  const [, first, second, third] = file.split("/");
  for (const [layer, names] of layers.entries()) {
    if (names.includes(first)) return { layer, component: first };
    // A file that lies in the room itself belongs to no component, so all others are strangers to it.
    if (names.includes(`${first}/*`)) return { layer, component: third ? `${first}/${second}` : first };
  }
  return undefined;
}

const statement =
  /^\s*(?:import|export)\b[^"'`;]*?\bfrom\s*["']([^"']+)["']|^\s*import\s*["']([^"']+)["']|\bimport\(\s*["']([^"']+)["']/gm;

/** Import and export-from statements, dynamic imports and import types, over several lines too. */
function importsOf(text) {
  return [...text.matchAll(statement)].map((match) => {
    const leading = /^\s*/.exec(match[0])[0].length;
    return {
      specifier: match[1] ?? match[2] ?? match[3],
      line: text.slice(0, match.index + leading).split("\n").length,
      typeOnly: /^\s*(?:import|export)\s+type\b/.test(match[0]),
    };
  });
}
