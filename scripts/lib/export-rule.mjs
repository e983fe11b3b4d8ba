// The export rule: production code uses every export of the sources. Code that only tests use proves nothing about the product.
import { posix } from "node:path";
import { readSource } from "./source-names.mjs";

/** Tests, and the fakes and fixtures that they share. */
export const isTestFile = (file) =>
  file.startsWith("test/") ||
  /\.test\.(?:ts|mjs)$|(?:^|\/)(?:[^/]*-)?(?:fake-[^/]*|fixtures)\.ts$/.test(file);

const declared =
  /^export\s+(?:abstract\s+)?(?:async\s+)?(const|let|function\s*\*?|class|interface|type)\s+([A-Za-z_$][\w$]*)/gm;
const listed = /^export\s+(type\s+)?\{([^}]*)\}/gm;
const imported = /\b(?:import|export)\s+(?:type\s+)?([^"'();]*?)\s*\bfrom\s*"([^"]*)"/g;
/** `const { a } = await import("x")`, `(await import("x")).a`, `import("x").A` */
const importedLater =
  /(?:\b(?:const|let)\s+\{([^}]*)\}\s*=\s*await\s+)?\bimport\(\s*"([^"]*)"\s*\)\)?(?:\.([\w$]+))?/g;

/**
 * Exports that production code does not use, neither the file itself nor another, and values that no file at all imports.
 * `files` has the text of each file of the project by its path from the root.
 */
export function checkExports(files) {
  const sources = new Map([...files].map(([file, text]) => [file, readSource(text).code]));
  const importers = new Map();
  for (const [file, code] of sources)
    for (const { target, name } of importsOf(file, code, files.get(file)))
      importers.set(`${target}#${name}`, [...(importers.get(`${target}#${name}`) ?? []), file]);

  return [...sources].flatMap(([file, code]) => {
    if (!file.startsWith("src/") || isTestFile(file)) return [];
    return exportsOf(code).flatMap(({ name, isType, line, ownUses }) => {
      const by = importers.get(`${file}#${name}`) ?? [];
      if (by.some((importer) => !isTestFile(importer))) return [];
      if (ownUses === 0)
        return [{ file, line, message: `${by.length > 0 ? "only tests use" : "nothing uses"} "${name}"` }];
      if (by.length === 0 && !isType)
        return [{ file, line, message: `nothing imports "${name}": it needs no export` }];
      return [];
    });
  });
}

/** Each export, and how many times the file itself uses it. */
function exportsOf(code) {
  const found = [...code.matchAll(declared)].map((match) => ({
    name: match[2],
    isType: /interface|type/.test(match[1]),
    index: match.index,
    ownUses: usesOf(match[2], code) - 1,
  }));
  for (const match of code.matchAll(listed))
    for (const { as, isType } of namesIn(match[2]))
      found.push({ name: as, isType: isType || match[1] !== undefined, index: match.index, ownUses: 0 });
  return found.map((each) => ({ ...each, line: code.slice(0, each.index).split("\n").length }));
}

const usesOf = (name, code) =>
  [...code.matchAll(new RegExp(`(?<![\\w$#]|(?<!\\.\\.)\\.)${name.replaceAll("$", "\\$")}(?![\\w$])`, "g"))]
    .length;

/** The names that a file imports from the project. */
function importsOf(file, code, text) {
  const found = [];
  const add = (specifier, names) => {
    const target = posix.join(posix.dirname(file), specifier);
    if (specifier.startsWith(".")) found.push(...names.map((name) => ({ target, name })));
  };
  // Only those strings that name files.
  const withFiles = code.replace(/(?:\bfrom\s*|\bimport\(\s*)"[^"]*"/g, (part, at) =>
    text.slice(at, at + part.length),
  );
  for (const [, what, specifier] of withFiles.matchAll(imported)) add(specifier, importedNames(what, code));
  for (const [, what = "", specifier, member] of withFiles.matchAll(importedLater))
    add(specifier, member ? [member] : namesIn(what.replaceAll(":", " as ")).map(({ name }) => name));
  return found;
}

function importedNames(what, code) {
  const space = /\*\s+as\s+([\w$]+)/.exec(what)?.[1];
  if (space) return [...code.matchAll(new RegExp(`\\b${space}\\.([\\w$]+)`, "g"))].map((match) => match[1]);
  return namesIn(/\{([^}]*)\}/.exec(what)?.[1] ?? "").map(({ name }) => name);
}

/** "type A, b as c" */
const namesIn = (text) =>
  [...text.matchAll(/(type\s+)?([\w$]+)(?:\s+as\s+([\w$]+))?/g)].map(([, type, name, as = name]) => ({
    name,
    as,
    isType: type !== undefined,
  }));
