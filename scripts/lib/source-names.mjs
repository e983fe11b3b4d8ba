// The names that sources declare, read from their text: documents may use them.
import { tokenize } from "./source-text.mjs";

/**
 * A source without its comments and regular expressions and without the contents of its strings, at the same offsets,
 * and the strings. Expressions inside template strings are kept.
 */
export function readSource(text) {
  const literals = [];
  const hidden = tokenize(text).filter(({ kind }) => kind !== "identifier");
  let code = "";
  for (const { kind, text: part, start } of hidden) {
    code += text.slice(code.length, start);
    if (kind !== "string") {
      code += blank(part);
      continue;
    }
    const end = part.length - (part.endsWith("${") ? 2 : 1);
    literals.push(part.slice(1, end));
    code += part[0] + blank(part.slice(1, end)) + part.slice(end);
  }
  return { code: code + text.slice(code.length), literals };
}

const blank = (text) => text.replace(/[^\n]/g, " ");

const typeOrValue = /\b(?:class|interface|type|function\s*\*?|const|let)\s+([A-Za-z_$][\w$]*)/g;
/** In classes, types, objects and parameters: `name:`, `name?:`, `name(`, `name<T>(`, `name =`, `name;`, `get name(`, `#name`. */
const member =
  /(?:^|[{,;(|[])[ \t]*(?:(?:static|readonly|async|override|get|set)[ \t]+|\*[ \t]*|\.\.\.)*(#?[A-Za-z_$][\w$]*)[ \t]*(?=[?!]?:|\??[(<]|=[^=>]|[,;}\])]|$)/gm;

/** All names that a source declares, and by class, interface and type the names that are declared in it. */
export function declaredNames(code) {
  const names = new Set();
  const members = new Map();
  for (const expression of [typeOrValue, member])
    for (const [, name] of code.matchAll(expression)) names.add(name);
  for (const match of code.matchAll(/\b(?:class|interface|type)\s+([A-Za-z_$][\w$]*)/g)) {
    const known = members.get(match[1]) ?? new Set();
    for (const [, name] of bodyAt(code, match.index + match[0].length).matchAll(member)) known.add(name);
    members.set(match[1], known);
  }
  return { names, members };
}

/** The declaration behind a name: to the end of its block, or of its statement. */
function bodyAt(code, from) {
  let depth = 0;
  for (let at = from; at < code.length; at++) {
    if ("{([".includes(code[at])) depth++;
    else if ("})]".includes(code[at])) {
      depth--;
      if (depth === 0 && code[at] === "}" && !/^\s*[;|&[>]/.test(code.slice(at + 1, at + 20)))
        return code.slice(from, at + 1);
    } else if (code[at] === ";" && depth === 0) return code.slice(from, at);
  }
  return code.slice(from);
}
