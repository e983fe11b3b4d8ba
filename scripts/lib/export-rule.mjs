// The export rule: production code uses every export and every file of the sources, and every dependency. Code that only tests use proves
// nothing about the product.
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
 * Finds exports that no production code uses, including their own file, and exported values that no file imports.
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

/** Programs start with these files, and the compiler reads declarations. */
const isEntry = (file) =>
  /^src\/(?:cli\/(?:main|why\/kubectl-why)\.ts|console\/page\/main\.tsx)$|\.d\.ts$/.test(file);

/** Sources that production code does not import. */
export function checkFiles(files) {
  const importers = new Map();
  for (const [file, text] of files)
    for (const { target } of specifiersOf(file, text))
      importers.set(target, [...(importers.get(target) ?? []), file]);
  return [...files.keys()].flatMap((file) => {
    if (!file.startsWith("src/") || isTestFile(file) || isEntry(file)) return [];
    const by = importers.get(file) ?? [];
    if (by.some((importer) => !isTestFile(importer))) return [];
    return [
      { file, line: 1, message: `${by.length > 0 ? "only tests import" : "nothing imports"} this file` },
    ];
  });
}

/** Dependencies of the package that neither sources nor scripts import. */
export function checkDependencies(files, { dependencies = {} }) {
  const used = new Set();
  for (const [file, text] of files)
    if (!isTestFile(file))
      for (const { specifier } of specifiersOf(file, text)) used.add(packageOf(specifier));
  return Object.keys(dependencies)
    .filter((name) => !used.has(name))
    .map((name) => ({ file: "package.json", line: 1, message: `nothing imports the dependency "${name}"` }));
}

/** Members without a user in production, each with its reason. The list only ever gets shorter. */
const allowedMembers = new Map(
  Object.entries({
    _isSecure: "grpc-js calls it",
    _equals: "grpc-js calls it",
    identify: "yaml calls it",
    compactedVersion: "tests of the store observe its compaction",
    entryCounts: "the soak test counts what the agent keeps",
  }),
);

const method =
  /^ {2}(?:(?:static|async|get|override)\s+|\*\s*)*([A-Za-z_$][\w$]*)(?:<[^>(]*>)?\((?:.*\{)?$/gm;

/** Methods and getters of classes whose name occurs only once in production code, where they are declared. */
export function checkMembers(files) {
  const production = [...files].filter(([file]) => !isTestFile(file));
  const uses = new Map();
  const codes = new Map();
  for (const [file, text] of production) {
    const { code, literals } = readSource(text);
    codes.set(file, code);
    for (const name of [...(code.match(/[A-Za-z_$][\w$]*/g) ?? []), ...literals])
      uses.set(name, (uses.get(name) ?? 0) + 1);
  }
  return [...codes].flatMap(([file, code]) => {
    if (!/^src\/.*\.ts$/.test(file) || !/^(?:export )?(?:abstract )?class /m.test(code)) return [];
    return [...code.matchAll(method)]
      .filter(
        ([text, name]) => uses.get(name) === 1 && !/\boverride\b/.test(text) && !allowedMembers.has(name),
      )
      .map(({ 1: name, index }) => ({
        file,
        line: code.slice(0, index).split("\n").length,
        message: `production code does not use the member "${name}"`,
      }));
  });
}

const packageOf = (specifier) =>
  specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/");

const specified = /\b(?:from|import|import\(|new URL\()\s*"([^"]+)"/g;

function specifiersOf(file, text) {
  return Array.from(text.matchAll(specified), ([, specifier]) => ({
    specifier,
    target: posix.join(posix.dirname(file), specifier),
  }));
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
