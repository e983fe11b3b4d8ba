// The rule of documents and comments: the functions, classes, files, folders and decisions that they name exist.
import { isBuiltin } from "node:module";
import { posix } from "node:path";
import { tokenize } from "./source-text.mjs";

/** A path in a document is relative to the document's folder, to one of these, or the end of the path of just one file or folder. */
const bases = ["", "src", "src/kubelet", "src/lib"];
const sourceFile = /\.(?:tsx?|mjs|md|proto)$/;
const fromRoot = /^(?:bin|docs|examples|proto|scripts|src|test)\//;

/** Installed packages and build output may be absent. */
const generated = /^(?:node_modules|dist|\.cache)(?:\/|$)/;

/** The products, the components of the agent and the libraries. */
const component =
  /^src\/(?:apiserver|cli|console|single-node|kubelet\/(?:pipeline|pods|resources)\/[^/]+|kubelet\/(?!pipeline|pods|resources)[^/]+|lib\/(?:clients\/[^/]+|(?!clients|gen)[^/]+))(?=\/)/;

/** Each component has a README, which states what it reads, writes and owns. */
export function checkFolders({ paths, read }) {
  const sources = [...paths].filter((path) => /^src\/.*\.tsx?$/.test(path));
  const folders = new Set(sources.flatMap((path) => component.exec(path)?.[0] ?? []));
  return [...folders].flatMap((folder) => {
    const file = `${folder}/README.md`;
    if (!paths.has(file)) return [{ file, line: 1, message: `"${folder}" has no README` }];
    return missingTopics(read(file)).map((what) => ({
      file,
      line: 1,
      message: `does not state what the component ${what}`,
    }));
  });
}

const missingTopics = (text) =>
  Object.entries({
    reads: /\breads?\b/i,
    writes: /\b(?:writes?|writer|written)\b/i,
    owns: /\bown(?:s|ed)?\b/i,
  }).flatMap(([what, words]) => (words.test(text) ? [] : [what]));

/** The problems of one document; `file` is its path from the project's root. */
export function checkDocument(file, text, project) {
  const problems = [];
  const add = (index, message) => {
    if (message) problems.push({ file, line: text.slice(0, index).split("\n").length, message });
  };
  for (const match of text.matchAll(/^(?:<{7}|>{7}|={7}$)/gm))
    add(match.index, "a conflict marker of a merge");
  // Fenced blocks show programs and pictures: only paths from the root are certainly meant as such.
  const prose = text.replace(/^( *)```[\s\S]*?^\1```/gm, (block, _indent, at) => {
    for (const match of block.matchAll(/[^\s"'()]+/g))
      add(at + match.index, checkRootPath(match[0], project));
    return blank(block);
  });
  const links = prose.replace(/(?<!`)(`+)(?!`)([^`]+?)\1(?!`)/g, (span, _ticks, code, at) => {
    add(at, checkCode(file, code.replace(/\s+/g, " ").trim(), project));
    return blank(span);
  });
  for (const match of links.matchAll(/\]\(([^()\s]+)\)/g))
    add(match.index, checkLink(file, match[1], project));
  for (const { index, message } of checkStatements(links, project)) add(index, message);
  return problems.sort((a, b) => a.line - b.line);
}

const blank = (text) => text.replace(/[^\n]/g, " ");

/** Statements that the sources can refute. */
const statements = [
  {
    pattern: /\bADRs?\s+(\d+)/g,
    problem: ([, number], { paths }) =>
      [...paths].some((path) => path.startsWith(`docs/adr/${number.padStart(4, "0")}-`))
        ? undefined
        : `there is no ADR ${number}`,
  },
  {
    pattern: /\bADR\s+(\d+)\]\([^)]*\b(\d{4})-/g,
    problem: ([, number, target]) =>
      Number(number) === Number(target)
        ? undefined
        : `the link of ADR ${number} leads to ADR ${Number(target)}`,
  },
  {
    pattern: /\b(?:about|some|of|with|costs) [\d,]+ lines\b(?! (?:a|per) )/g,
    problem: () => "the number of lines changes with the next edit: omit it",
  },
  {
    pattern: /\bno locks\b/g,
    problem: (_match, { members }) => {
      const lock = [...members.keys()].find((name) => /[a-z](?:Locks?|Mutex)$/.test(name));
      return lock && `there is ${lock}`;
    },
  },
];

function* checkStatements(text, project) {
  for (const { pattern, problem } of statements)
    for (const match of text.matchAll(pattern)) {
      const message = problem(match, project);
      if (message) yield { index: match.index, message };
    }
}

/** The files and decisions that the comments of a source file name exist. */
export function checkComments(file, text, project) {
  const problems = [];
  for (const comment of tokenize(text).filter(({ kind }) => kind === "comment")) {
    const add = (index, message) =>
      problems.push({ file, line: text.slice(0, comment.start + index).split("\n").length, message });
    for (const match of comment.text.matchAll(pathInComment))
      if (!isEndOfPath(match[0], project)) add(match.index, `there is no "${match[0]}"`);
    for (const { index, message } of checkStatements(comment.text, project)) add(index, message);
  }
  return problems;
}

/** Names of source files, and paths that start with a folder of the project. */
const pathInComment =
  /(?<![\w/.<>-])(?:(?:docs|src|test|scripts|packaging|proto|examples)\/[\w./*-]*\w|[\w-]+(?:\/[\w.-]+)*\.(?:ts|mjs|tsx|md|proto))(?![\w*])/g;

function isEndOfPath(path, { paths }) {
  const end = new RegExp(`(?:^|/)${path.replace(/[.+]/g, "\\$&").replace(/\*/g, "[^/]*")}(?:$|/)`);
  return [...paths].some((known) => end.test(known));
}

/** Documents that list all files or folders of a kind. */
const indexes = [
  { file: "docs/adr/README.md", kind: /^docs\/adr\/(\d.*)$/ },
  { file: "test/README.md", kind: /^test\/([^/.]+)$/ },
];

export function checkIndexes({ paths, read }) {
  return indexes.flatMap(({ file, kind }) => {
    const known = [...paths].flatMap((path) => kind.exec(path)?.[1] ?? []);
    if (known.length === 0) return [];
    const text = paths.has(file) ? read(file) : "";
    return known
      .filter((name) => !text.includes(`(${name}`) && !text.includes(`\`${name}`))
      .map((name) => ({ file, line: 1, message: `does not list "${name}"` }));
  });
}

function checkLink(file, target, project) {
  if (/^[a-z]+:/.test(target)) return undefined;
  const [path, anchor] = target.split("#");
  const to = path === "" ? file : posix.join(posix.dirname(file), path).replace(/\/$/, "");
  if (!project.paths.has(to)) return `there is no "${to}"`;
  if (anchor && !project.headings(to).has(anchor)) return `"${to}" has no heading "${anchor}"`;
  return undefined;
}

function checkCode(file, code, project) {
  const script = /^npm run ([\w:-]+)/.exec(code)?.[1];
  if (script && !project.scripts.has(script)) return `package.json has no script "${script}"`;
  // The arguments behind `npm test --` are parts of paths.
  if (code.startsWith("npm test -- ")) return undefined;
  const name = /^(#?[\w$]+(?:\.#?[\w$]+)*)(\(.*\))?$/.exec(code);
  if (isPath(file, code, project)) return checkPath(file, code, project);
  if (name) return checkName(name[1], name[2] !== undefined, project);
  return code.split(" ").flatMap((word) => checkRootPath(word, project) ?? [])[0];
}

function checkRootPath(word, project) {
  const path = word.replace(/[,;:]$/, "");
  return fromRoot.test(path) ? checkPath("", path, project) : undefined;
}

/** Names of source files, and whatever starts with one of these folders. */
function isPath(file, code, project) {
  if (!/^[\w.*{},<>-]+(?:\/[\w.*{},<>-]+)*\/?(?::\d+)?$/.test(code)) return false;
  if (/^[*.<]*\.\w+$/.test(code) || project.literals.has(code)) return false;
  if (sourceFile.test(code.replace(/:\d+$/, "")) || code.endsWith("/")) return true;
  const [first, rest] = code.split("/");
  return rest !== undefined && first !== "" && below(file, first).some((path) => project.paths.has(path));
}

const below = (file, path) =>
  [posix.dirname(file), ...bases].map((base) => posix.join(base, path).replace(/\/$/, ""));

function checkPath(file, code, project) {
  for (const path of alternatives(code.replace(/:\d+$/, "").replace(/\/$/, ""))) {
    if (generated.test(path) || below(file, path).some((known) => project.paths.has(known))) continue;
    const end = new RegExp(`/${path.replace(/[.+]/g, "\\$&").replace(/<[^>]*>|\*/g, "[^/]*")}$`);
    const found = [...project.paths].filter((known) => end.test(`/${known}`));
    if (found.length === 0) return `there is no "${path}"`;
    if (found.length > 1 && !/[*<]/.test(path))
      return `"${path}" may be each of ${found.join(", ")}: write more of its path`;
  }
  return undefined;
}

/** "{a,b}.ts" is "a.ts" and "b.ts". */
function alternatives(path) {
  const match = /\{([^{}]*)\}/.exec(path);
  if (!match) return [path];
  return match[1].split(",").flatMap((each) => alternatives(path.replace(match[0], each)));
}

/**
 * Names that are written like those of code: calls, private names, and whatever has a capital letter inside or in front.
 * Reasons, kinds, fields and gates are known because they are strings or fields in the sources.
 */
function checkName(name, isCall, project) {
  if (!isCall && !/#|[a-z]\w*[A-Z]|^[A-Z]\w+[a-z]/.test(name)) return undefined;
  if (project.literals.has(name) || isOfPlatform(name)) return undefined;
  const parts = name.split(".");
  const unknown = parts.find((part) => !project.names.has(part) && !project.literals.has(part));
  if (unknown) return `no source declares "${unknown}"`;
  const members = project.members.get(parts[0]);
  if (parts.length === 2 && members && !members.has(parts[1])) return `"${parts[0]}" has no "${parts[1]}"`;
  return undefined;
}

/** Names of JavaScript and Node.js: `Date.now`, `util.inspect`. */
function isOfPlatform(name) {
  const [first, ...rest] = name.split(".");
  if (isBuiltin(first)) return true;
  let value = globalThis[first];
  for (const part of rest) value = value?.[part];
  return value !== undefined;
}
