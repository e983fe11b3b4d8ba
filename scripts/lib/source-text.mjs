// Splits source files into the parts that people read: identifiers, comments, strings. Not a parser: it only has to know where
// strings, templates, regular expressions and comments begin and end.

const identifierStart = /[\p{ID_Start}$_]/u;
const identifier = /#?[\p{ID_Start}$_][\p{ID_Continue}$]*/uy;
const number = /\d[\w.]*/y;
const flags = /[a-z]*/y;
/** A slash after one of these divides; after anything else it begins a regular expression. */
const endsOperand = /^(?:[\])}]|identifier|number|string)$/;
const keywordsBeforeExpression = new Set([
  ...[
    "return",
    "typeof",
    "case",
    "in",
    "of",
    "delete",
    "void",
    "throw",
    "new",
    "else",
    "do",
    "await",
    "yield",
  ],
]);

/**
 * Identifiers, comments, strings (of a template: its literal parts) and regular expressions of TypeScript or JavaScript.
 * @returns {{ kind: "identifier" | "comment" | "string" | "pattern", text: string, start: number }[]}
 */
export function tokenize(source) {
  const tokens = [];
  /** The number of open braces inside the expression of each open template. */
  const templates = [];
  let before = "";
  let at = 0;
  const add = (kind, end) => {
    tokens.push({ kind, text: source.slice(at, end), start: at });
    at = end;
  };
  while (at < source.length) {
    const char = source[at];
    const two = source.slice(at, at + 2);
    if (at === 0 && two === "#!") add("comment", endOfLine(source, at));
    else if (/\s/.test(char)) at++;
    else if (two === "//") add("comment", endOfLine(source, at));
    else if (two === "/*") add("comment", indexAfter(source, "*/", at + 2));
    else if (char === '"' || char === "'") {
      add("string", endOfString(source, at));
      before = "string";
    } else if (char === "`" || (char === "}" && templates.at(-1) === 0)) {
      if (char === "}") templates.pop();
      const { end, open } = endOfTemplatePart(source, at + 1);
      add("string", end);
      if (open) templates.push(0);
      before = open ? "(" : "string";
    } else if (char === "/" && !endsOperand.test(before) && !isTagSlash(source, at)) {
      add("pattern", endOfRegExp(source, at));
      before = "string";
    } else if (identifierStart.test(char) || char === "#") {
      identifier.lastIndex = at;
      const name = identifier.exec(source)?.[0];
      if (!name) {
        at++;
        continue;
      }
      add("identifier", at + name.length);
      before = keywordsBeforeExpression.has(name) ? name : "identifier";
    } else if (/\d/.test(char)) {
      number.lastIndex = at;
      at += number.exec(source)[0].length;
      before = "number";
    } else {
      if (templates.length > 0 && char === "{") templates[templates.length - 1]++;
      if (templates.length > 0 && char === "}") templates[templates.length - 1]--;
      before = char;
      at++;
    }
  }
  return tokens;
}

/** The prose of a Markdown document: code blocks and code spans are blanked, so that offsets are unchanged. */
export function markdownProse(text) {
  const blank = (match) => match.replaceAll(/[^\n]/g, " ");
  return text
    .replaceAll(/^( *)(```|~~~)[^\n]*\n[\s\S]*?^\1\2 *$/gm, blank)
    .replaceAll(/`[^`\n]+`/g, blank)
    .replaceAll(/\]\([^)\n]*\)/g, blank);
}

/** `lastWords`, `LAST_WORDS`, `APIServer` and `"last words"` in lower-case words, with their offsets. */
export function wordsOf(text) {
  return Array.from(
    text.matchAll(/\p{Lu}+(?!\p{Ll})|\p{Lu}?\p{Ll}+(?:['’]\p{Ll}+)?|\p{Lu}/gu),
    ({ 0: word, index }) => ({ word: word.toLowerCase(), index }),
  );
}

/** The slash of `</div>` or `<br />` in JSX. */
const isTagSlash = (source, at) => source[at - 1] === "<" || source[at + 1] === ">";

function endOfLine(source, from) {
  const end = source.indexOf("\n", from);
  return end < 0 ? source.length : end;
}

function indexAfter(source, text, from) {
  const index = source.indexOf(text, from);
  return index < 0 ? source.length : index + text.length;
}

function endOfString(source, from) {
  for (let at = from + 1; at < source.length; at++) {
    if (source[at] === "\\") at++;
    else if (source[at] === source[from] || source[at] === "\n") return at + 1;
  }
  return source.length;
}

function endOfTemplatePart(source, from) {
  for (let at = from; at < source.length; at++) {
    if (source[at] === "\\") at++;
    else if (source[at] === "`") return { end: at + 1, open: false };
    else if (source[at] === "$" && source[at + 1] === "{") return { end: at + 2, open: true };
  }
  return { end: source.length, open: false };
}

function endOfRegExp(source, from) {
  let inClass = false;
  for (let at = from + 1; at < source.length; at++) {
    if (source[at] === "\\") at++;
    else if (source[at] === "[") inClass = true;
    else if (source[at] === "]") inClass = false;
    else if (source[at] === "\n") return from + 1;
    else if (source[at] === "/" && !inClass) {
      flags.lastIndex = at + 1;
      return at + 1 + flags.exec(source)[0].length;
    }
  }
  return source.length;
}
