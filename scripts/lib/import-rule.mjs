import { posix } from "node:path";

/**
 * The components of `src`, each on top of the libraries in `src/lib`. They never import each other; commands may import
 * all of them.
 */
const products = ["kubelet", "apiserver", "single-node", "console"];

/** The interface between products: the only files whose types other products import. */
const contracts = [
  "src/console/console-node.ts",
  "src/kubelet/explain/pod-explanation.ts",
  "src/kubelet/server/manifests/applied-manifest.ts",
];

/** The layers from the top down. Each folder below a path that ends with "/*" is a component. */
export const layers = [
  ["cli"],
  ["kubelet/agent"],
  [
    "apiserver",
    "console",
    "single-node",
    "kubelet/server",
    "kubelet/pipeline/*",
    "kubelet/pods/*",
    "kubelet/resources/*",
    "kubelet/node",
    "kubelet/plugins",
    "kubelet/certs",
    "kubelet/stats",
    "kubelet/explain",
    "kubelet/cluster",
  ],
  ["kubelet/state"],
  ["lib/clients", "lib/host"],
  ["lib/model", "lib/config"],
  ["lib/gen", "lib/schema"],
  ["lib/base"],
];

/** Exceptions within a layer: configuration and API objects share quantities; all programs are started by one function. */
const allowed = [
  { from: "lib/config", to: "lib/model/quantity.ts" },
  { from: "lib/config", to: "lib/model/quantity-form.ts" },
  { from: "lib/clients", to: "lib/host/start-program.ts" },
];

/** The problems of one file; `file` is its path from the project's root ("src/…"). */
export function checkImports(file, text) {
  const from = layerOf(file);
  if (!from)
    return [
      { file, line: 1, message: `"${file}" is in no layer: add its folder to scripts/lib/import-rule.mjs` },
    ];
  const isTest = file.endsWith(".test.ts");
  return importsOf(text).flatMap(({ specifier, isType, line }) => {
    if (!specifier.startsWith(".")) return [];
    const target = posix.normalize(posix.join(posix.dirname(file), specifier));
    const message = violation(from, target, { isTest, isType });
    return message ? [{ file, line, message: `${message} (imports "${specifier}")` }] : [];
  });
}

function violation(from, target, { isTest, isType }) {
  if (!target.startsWith("src/")) {
    return isTest && target.startsWith("test/") ? undefined : "source does not import from outside of src/";
  }
  const to = layerOf(target);
  if (!to) return `"${target}" is in no layer`;
  const other = productOf(to);
  if (productOf(from) && other && other !== productOf(from))
    return isType && contracts.includes(target)
      ? undefined
      : `${productOf(from)} and ${other} are separate components and share libraries only`;
  if (to.component === from.component || to.layer > from.layer) return undefined;
  const inside = target.slice("src/".length);
  if (allowed.some((a) => a.from === from.component && inside.startsWith(a.to))) return undefined;
  if (to.layer < from.layer) return `imports go down only: ${from.component} is below ${to.component}`;
  return isType
    ? undefined
    : `${from.component} and ${to.component} are of one layer and import only types of each other`;
}

const productOf = ({ component }) => products.find((name) => component.split("/")[0] === name);

/** The layer and component that a file belongs to. */
function layerOf(file) {
  const inside = file.slice("src/".length);
  for (const [layer, names] of layers.entries())
    for (const name of names) {
      const folder = name.replace(/\*$/, "");
      if (name === folder ? inside.startsWith(`${name}/`) : inside.startsWith(folder)) {
        if (name === folder) return { layer, component: name };
        // A file next to the components belongs to none of them.
        const [component, rest] = inside.slice(folder.length).split("/");
        return { layer, component: rest === undefined ? folder.slice(0, -1) : folder + component };
      }
    }
  return undefined;
}

const statement =
  /^\s*(?:import|export)\b(\s+type\b)?[^"'`;]*?\bfrom\s*["']([^"']+)["']|^\s*import\s*["']([^"']+)["']|\bimport\(\s*["']([^"']+)["']/gm;

/**
 * Import and export-from statements, dynamic imports and import types, also those that span several lines. Only a statement that
 * is erased as a whole (`import type`) counts as an import of types.
 */
export function importsOf(text) {
  return [...text.matchAll(statement)].map((match) => {
    const leading = /^\s*/.exec(match[0])[0].length;
    return {
      specifier: match[2] ?? match[3] ?? match[4],
      isType: match[1] !== undefined,
      line: text.slice(0, match.index + leading).split("\n").length,
    };
  });
}
