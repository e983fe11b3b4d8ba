// The names that sources declare, read from their text: what a document may call by name.

const token =
  /\/\/[^\n]*|\/\*[\s\S]*?\*\/|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|[A-Za-z_$#][\w$]*|\d[\w.]*|\s+|[\s\S]/gy;
/** A piece of a template string, to its end or to the next expression in it. */
const templatePiece = /(?:[^`\\$]|\\[\s\S]|\$(?!\{))*(?:`|\$\{)/y;
const pattern = /\/(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*/y;
/** Behind one of these a "/" begins a regular expression; behind anything else it divides. */
const beforePattern = /^(?:[(,=:[!&|?{};+*%~^<>-]|return|typeof|case|in|of)?$/;

/**
 * A source without its comments and without what is in its strings, at the same offsets, and the strings.
 * Expressions inside of template strings stay.
 */
export function readSource(text) {
  const pieces = [];
  const literals = [];
  const hide = (piece) => pieces.push(piece.replace(/[^\n]/g, " "));
  const readAt = (expression, at) => {
    expression.lastIndex = at;
    return expression.exec(text)?.[0];
  };
  // For each template string that is open: how many braces are open in its expression.
  const open = [];
  let last = "";
  for (let at = 0; at < text.length; ) {
    const word = readAt(token, at);
    at += word.length;
    if (/^(?:\s|\/[/*])/.test(word)) {
      hide(word);
      continue;
    }
    if (/^["']./.test(word)) {
      literals.push(word.slice(1, -1));
      pieces.push('"');
      hide(word.slice(1, -1));
      pieces.push('"');
    } else if (word === "`" || (word === "}" && open.at(-1) === 0)) {
      if (word === "}") open.pop();
      const piece = readAt(templatePiece, at) ?? text.slice(at);
      at += piece.length;
      const goesOn = piece.endsWith("${");
      const end = goesOn ? -2 : -1;
      literals.push(piece.slice(0, end));
      pieces.push(word);
      hide(piece.slice(0, end));
      pieces.push(piece.slice(end));
      if (goesOn) open.push(0);
    } else if (word === "/" && beforePattern.test(last)) {
      const whole = readAt(pattern, at - 1) ?? word;
      at += whole.length - 1;
      hide(whole);
    } else {
      if (open.length > 0 && word === "{") open[open.length - 1]++;
      if (open.length > 0 && word === "}") open[open.length - 1]--;
      pieces.push(word);
    }
    last = word;
  }
  return { code: pieces.join(""), literals };
}

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
