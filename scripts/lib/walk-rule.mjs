import { isTestFile } from "./export-rule.mjs";
import { tokenize } from "./source-text.mjs";

/**
 * The walk rule of docs/architecture/code-map.md: one module walks trees of files, through open directories. A walk by path may be led
 * elsewhere: a container that may write to a directory replaces it with a link between two calls.
 */
const walker = "src/lib/host/open-dir.ts";

/** The walks by path that remain, each with the reason why no container can lead it elsewhere, or why that changes nothing. */
export const exceptions = [
  { file: "src/console/http/static-files.ts", call: "readdir", why: "the files of this program" },
  {
    file: "src/kubelet/pods/volumes/content/atomic-writer.ts",
    call: "readdir",
    why: "compares files that it wrote, in a volume that containers mount read-only, and changes none",
  },
  {
    file: "src/kubelet/plugins/scan.ts",
    call: "visit",
    why: "looks for sockets of drivers, which are root, and changes nothing",
  },
  { file: "src/lib/config/drop-ins.ts", call: "listDropIns", why: "the configuration belongs to root" },
  { file: "src/lib/host/cgroups/tree.ts", call: "dirsBelow", why: "a cgroup filesystem has no links" },
  { file: "src/single-node/cgroup-trees.ts", call: "cgroupTree", why: "a cgroup filesystem has no links" },
];

const lists = ["readdir", "readdirSync", "opendir", "opendirSync", "listDir", "namesIn"];
/** Calls that walk with or without the option. */
const walks = new Set(["cp", "cpSync", "glob", "globSync"]);
/** Calls whose option of this name is no walk. */
const withoutWalk = new Set(["mkdir", "mkdirSync", "bind"]);
const programs = new Set(["chgrp", "chmod", "chown", "cp", "du", "find", "rm", "rsync", "tar"]);

/** The problems of one file; `file` is its path from the project's root ("src/…"). */
export function checkWalks(file, text, allowed = exceptions) {
  if (isTestFile(file) || file === walker) return [];
  const tokens = tokenize(text);
  const code = withoutText(text, tokens);
  const names = tokens.filter(({ kind }) => kind === "identifier");
  return [...optionWalks(code, names), ...programWalks(code, text, tokens), ...ownWalks(code, names)]
    .filter(({ call }) => !allowed.some((exception) => exception.file === file && exception.call === call))
    .map(({ start, call, message }) => ({
      file,
      line: text.slice(0, start).split("\n").length,
      call,
      message: `${message}: use visitDirs of ${walker}, or removeTree`,
    }))
    .sort((a, b) => a.line - b.line);
}

/** The code, with the same offsets: comments, strings and patterns are blanked. */
function withoutText(text, tokens) {
  const parts = [];
  let at = 0;
  for (const { kind, text: token, start } of tokens) {
    if (kind === "identifier") continue;
    const isTemplate = kind === "string" && /^[`}]/.test(token);
    const blanked = isTemplate
      ? blank(token).replace(/^ /, opened(token)).replace(/ $/, closed(token))
      : blank(token);
    parts.push(text.slice(at, start), blanked);
    at = start + token.length;
  }
  return parts.join("") + text.slice(at);
}

const blank = (token) => token.replaceAll(/[^\n]/g, " ");
/** The expressions of templates are in parentheses: "`a${" becomes "  (", "}`" becomes ") ". */
const opened = (token) => (token.startsWith("}") ? ")" : " ");
const closed = (token) => (token.endsWith("${") ? "(" : " ");

function optionWalks(code, names) {
  return names.flatMap(({ text: name, start }) => {
    if (name === "recursive" && isOption(code, start)) {
      const call = callAround(code, start);
      return withoutWalk.has(call)
        ? []
        : [{ start, call, message: `${call || "an object"} walks a tree by path` }];
    }
    return walks.has(name) && isFileCall(code, name, start)
      ? [{ start, call: name, message: `${name} walks a tree by path` }]
      : [];
  });
}

/** `{ recursive: true }`, `{ recursive }` */
function isOption(code, start) {
  return /[{,]\s*$/.test(code.slice(0, start)) && /^recursive\s*[:,}]/.test(code.slice(start));
}

/** `fs.cp(…)`, or a call of an imported function. */
function isFileCall(code, name, start) {
  if (!/^\w+\s*\(/.test(code.slice(start))) return false;
  return /\b(?:fs|files|promises)\.$/.test(code.slice(0, start)) || isImported(code, name);
}

function isImported(code, name) {
  return imports(code).some((statement) => new RegExp(`[{,]\\s*${name}\\b`).test(statement));
}

const imports = (code) => code.match(/^import\b[^;]*?\bfrom\b/gm) ?? [];

/** The function whose arguments contain the position; "" if there is none. */
function callAround(code, start) {
  let depth = 0;
  for (let at = start - 1; at >= 0; at--) {
    if (/[)\]}]/.test(code[at])) depth++;
    if (!/[([{]/.test(code[at])) continue;
    if (depth > 0) depth--;
    else if (code[at] === "(") return /([\w$#]+)\s*(?:<[^()]*>)?\s*$/.exec(code.slice(0, at))?.[1] ?? "";
    else if (code[at] === "{" && !/[(,:[]\s*$/.test(code.slice(0, at))) return ""; // a block, or a variable
  }
  return "";
}

/** `program: "rm"` */
function programWalks(code, text, tokens) {
  return tokens
    .filter(
      ({ kind, text: token }) => kind === "string" && programs.has(token.slice(1, -1).replace(/^.*\//, "")),
    )
    .filter(({ start }) => /\bprogram:\s*$/.test(code.slice(0, start)))
    .map(({ start, text: token }) => ({
      start,
      call: token.slice(1, -1),
      message: `${token} walks a tree by path`,
    }));
}

/**
 * Functions that list directories, perhaps through others of the file, and call themselves, perhaps through others, or loop over a list
 * that grows in the loop.
 */
function ownWalks(code, names) {
  const readers = new Set([...lists, ...aliases(code)]);
  const functions = functionsOf(code).map((own) => {
    const uses = names.filter(({ start }) => start > own.nameAt && start < own.end);
    const called = new Set(uses.filter(({ start }) => isOwn(code, start)).map(({ text }) => text));
    const lists = uses.some(({ text, start }) =>
      text === "dirs" ? /\.$/.test(code.slice(0, start)) && code[start + 4] === "(" : readers.has(text),
    );
    return { ...own, called, lists };
  });
  return functions
    .map((own) => ({ ...own, reached: reachedFrom(own, functions) }))
    .filter(({ lists, reached }) => lists || [...reached].some((other) => other.lists))
    .filter(
      ({ nameAt, end, reached }) =>
        [...reached].some((other) => other.nameAt === nameAt) || growsInLoop(code.slice(nameAt, end)),
    )
    .map(({ name, nameAt }) => ({
      start: nameAt,
      call: name.replace("#", ""),
      message: `${name} walks a tree by path`,
    }));
}

/** `import { readdir as list }` */
const aliases = (code) =>
  imports(code).flatMap((statement) =>
    lists.flatMap((name) => new RegExp(`\\b${name} as (\\w+)`).exec(statement)?.[1] ?? []),
  );

const keywords = /^(?:if|for|while|switch|catch|return|await|function|with)$/;
const definition =
  /^( *)(?:(?:(?:export|default|async) )*function\*? ?([\w$]+)|(?:export )?(?:const|let) ([\w$]+)[^=\n]*= ?(?:async )?(?:\(|<|function|[\w$]+ =>|promisif\w*\()|(?:(?:static|async|override|readonly|private|public|get) |\*)*(#?[\w$]+)(?:(?:<[^\n]*?>)?\(|(?::| =) (?:async )?(?:\(|[\w$]+ =>)))/gm;

/** The functions and methods of formatted code: indentation shows where they end. */
function functionsOf(code) {
  return [...code.matchAll(definition)].flatMap((match) => {
    const [head, indent, ...found] = match;
    const name = found.find(Boolean);
    const end = endOfBlock(code, match.index, indent);
    const isMember = found[2] !== undefined;
    // Otherwise a value, or an expression in parentheses.
    if (
      head.endsWith("(") &&
      /[=:] ?(?:async )?\($/.test(head) &&
      !isArrow(code, match.index + head.length - 1)
    )
      return [];
    // The last line of a call is ");".
    const isCall = /[\w$>]\($/.test(head) && !/^ *\},?$/.test(lastLine(code, match.index, end));
    if (isMember && (keywords.test(name) || isCall)) return [];
    return [{ name, nameAt: match.index + head.lastIndexOf(name), end }];
  });
}

/** Whether the parentheses that open here contain the parameters of a function. */
function isArrow(code, open) {
  let depth = 0;
  for (let at = open; at < code.length; at++) {
    if (/[([{]/.test(code[at])) depth++;
    if (/[)\]}]/.test(code[at]) && --depth === 0) return /^\)\s*(?:=>|:)/.test(code.slice(at, at + 40));
  }
  return false;
}

/** The first later line that is not indented deeper and does not begin with a closing bracket. */
function endOfBlock(code, from, indent) {
  const next = new RegExp(`\\n {0,${indent.length}}(?![ \\n)\\]}>])`, "g");
  next.lastIndex = from;
  return next.exec(code)?.index ?? code.length;
}

const lastLine = (code, start, end) => code.slice(start, end).trimEnd().split("\n").at(-1);

/** `name` and `this.name`, but no member of another object. */
function isOwn(code, start) {
  const before = code.slice(0, start);
  return !/\.$/.test(before) || /\bthis\.$|\.\.\.$/.test(before);
}

/** All functions that it calls, directly or through others. */
function reachedFrom(own, functions) {
  const reached = new Set();
  const pending = [own];
  for (let next = pending.pop(); next; next = pending.pop())
    for (const other of functions)
      if (next.called.has(other.name) && !reached.has(other)) {
        reached.add(other);
        pending.push(other);
      }
  return reached;
}

/** `for (const dir of pending) … pending.push(…)`, `pending.pop()` */
function growsInLoop(code) {
  const grown = (text) =>
    new Set([...text.matchAll(/(?<![\w.$#])([\w.$#]+)\.(?:push|unshift|add)\(/g)].map(([, name]) => name));
  const loops = [...code.matchAll(/^( *)for (?:await )?\([^\n]*\bof\s+([\w.$#]+)\)/gm)];
  return (
    loops.some(({ 0: { length }, 1: indent, 2: list, index }) =>
      grown(code.slice(index + length, endOfBlock(code, index, indent))).has(list),
    ) ||
    [...code.matchAll(/(?<![\w.$#])([\w.$#]+)\.(?:pop|shift)\(/g)].some(([, list]) => grown(code).has(list))
  );
}

/** Exceptions that no file needs. */
export function unusedExceptions(files, allowed = exceptions) {
  return allowed.filter(
    (exception) =>
      !files.some(
        ({ file, text }) =>
          file === exception.file && checkWalks(file, text, []).some(({ call }) => call === exception.call),
      ),
  );
}
