import { markdownProse, tokenize, wordsOf } from "./source-text.mjs";

/** Words that are not the terms of Kubernetes and containerd, with what to write instead. */
export const avoid = new Map(
  Object.entries({
    "tell tells told telling": "report, notify, send, pass",
    "hear hears heard hearing": "receive, observe, watch",
    "ask asks asked asking": "request, query, call, check",
    "say says said saying": "report, log, print, state, specify",
    "word words": "reason, message, argument, token, text",
    "wish wishes wished": "desired state, preference, option",
    news: "update, event, change",
    "trouble troubles troubled": "error, failure, problem",
    "door doors": "endpoint, listener, handler",
    anew: "again",
    "furniture furnish furnishes furnished furnishing": "default objects, create defaults",
    "happening happenings": "event",
    farewell: "termination grace period",
    whoever: "the caller, the client, the component that",
    "somebody anybody": "a user, a client, another process",
    nobody: "no client, no one, or the passive",
    everybody: "all clients, everyone",
    "leftover leftovers": "orphan",
    played: "fake",
    "judge judges judged judging": "decide, check, evaluate",
    anymore: "no longer, or omit it",
    beside: "next to, alongside",
    damaged: "corrupt",
    meanwhile: "in the meantime, during, until then",
    nevertheless: "anyway, still",
    "complain complains complained complaint complaints": "error, message; report",
    "misfit misfits": "filter failure, reason",
    "refusal refusals": "rejection, failure",
    "alarm alarms": "threshold, notification",
  }).flatMap(([words, instead]) => words.split(" ").map((word) => [word, instead])),
);

/** Phrases to avoid in comments, strings and documents. */
export const phrases = new Map([
  ["any more", "no longer"],
  ["left out", "omitted"],
  ["by hand", "manually"],
  ["half-way", "halfway"],
  ["again and again", "repeatedly"],
  ["one after the other", "one at a time, in sequence"],
  ["created again", "recreated"],
  ["connects again", "reconnects"],
  ["tried again", "retried"],
  ["replaced by others", "replaced with others"],
  ["another reason than", "a reason other than"],
  ["private node", "local node"],
  ["final phase", "terminal phase"],
  ["QoS tier", "QoS cgroup"],
  ["log row", "log entry, line"],
]);

/** British spellings, by pattern, with the American one. The project's spelling is American. */
const british = [
  [
    /^((?:re|un)?(?:cancel|channel|counsel|dial|equal|fuel|initial|label|level|marshal|model|signal|total|travel|tunnel)l)(?=ed$|ing$|ers?$)/,
    (stem) => stem.slice(0, -1),
  ],
  [
    /^((?:mis)?(?:arm|behavi|col|endeav|fav|flav|harb|hon|hum|lab|neighb|rum|sav|tum|vap|vig)ou)(?=r)/,
    (stem) => stem.slice(0, -1),
  ],
  [
    /^((?:de|dis|in|re|un)?(?:author|capital|categor|critic|custom|emphas|final|general|initial|local|maxim|minim|normal|optim|organ|parallel|priorit|random|recogn|serial|special|stabil|standard|summar|synchron|util|virtual|visual)i)s(?=e|ing|ation)/,
    (_whole, stem) => `${stem}z`,
  ],
  [/^((?:an|cat|par)aly)s(?=e[dr]?s?$|ing$)/, (_whole, stem) => `${stem}z`],
  [/^catalogue/, () => "catalog"],
  [/^artefact/, () => "artifact"],
  [/^judgement/, () => "judgment"],
  [/^grey/, () => "gray"],
  [/^centre/, () => "center"],
  [/^licence/, () => "license"],
  [/^defence/, () => "defense"],
  [/^whilst$/, () => "while"],
  [/^amongst$/, () => "among"],
  [/^towards$/, () => "toward"],
  [/^learnt$/, () => "learned"],
];

/** The American spelling of a word; undefined if it is American already. */
export function americanOf(word) {
  const found = british.find(([pattern]) => pattern.test(word));
  return found && word.replace(found[0], found[1]);
}

/** How doc comments should not begin, with what to write instead. */
export const openings = [
  { pattern: /^\/\*\*\s*(?:\*\s*)?(What|Who|Whom|Whose)\b/, instead: 'a noun, as in "The pods that …"' },
  { pattern: /^\/\*\*\s*(?:\*\s*)?(Of)\b/, instead: 'a noun, as in "The size of …"' },
  { pattern: /^\/\*\*\s*(?:\*\s*)?(To be)\b/, instead: '"Must be …", or an imperative' },
];

/** Text that keeps such a word, and why. `text` is matched against the whole identifier, string, or line of prose; `files` against the path. */
export const allowed = [
  {
    text: /the server has asked for the client to provide|and has asked us to try again later/,
    why: "upstream's errors",
  },
  { text: /\bword list\b|\bwords to avoid\b|check-words/, why: "this list" },
  {
    text: /COMP_WORDS|\$words\b|shift words/,
    files: /^scripts\/lib\/package\//,
    why: "variables of bash and zsh",
  },
  { text: /nobody:x:|^["']nobody["']$/, why: "the user and group of the operating system" },
  { text: /^#?words?$/, why: "a machine word, or a word of a text that is parsed" },
  {
    text: /^["'`][^\s.]+["'`]$|\$\(NOBODY\)/,
    files: /^test\//,
    why: "names in test data, such as those of users and pods",
  },
  {
    text: /^["'`]?(?:E?CANCELLED|cancelled)["'`]?$/,
    why: "codes of gRPC and c-ares, events and fields of gRPC and Node.js",
  },
  { text: /ℹ cancelled|\bcancelled\b.*no changes made/, why: "the output of node:test and of kubectl" },
  { text: /^labelledby$/, why: "an attribute of ARIA" },
  { text: /^analyse$/, files: /^scripts\/lib\/regexp-rule/, why: "a function of scslre" },
  { text: /^["`]Cleaned up leftovers of a previous run["`]$/, why: "a log message of docs/STYLE.md" },
];

/** Paths that the rule does not cover yet, each with all below it. The list only ever gets shorter. */
export const pending = [];

/** Files whose subject is this list. */
const exempt = new Set([
  "docs/STYLE.md",
  ...["check-words.mjs", "lib/source-text.mjs", "lib/word-rule.mjs", "lib/word-rule.test.mjs"].map(
    (file) => `scripts/${file}`,
  ),
]);

export const isPending = (file) =>
  pending.some((path) => file === path || file.startsWith(path.endsWith("/") ? path : `${path}/`));

/** Words of one file that docs/STYLE.md replaces with others; `file` is its path from the project's root. */
export function checkWords(file, text) {
  if (exempt.has(file)) return [];
  const tokens = file.endsWith(".md") ? [] : tokenize(text);
  const parts = file.endsWith(".md") ? linesOf(markdownProse(text)) : tokens.flatMap(linesOfComment);
  const words = parts
    .filter((part) => !allowed.some(({ text, files = /^/ }) => text.test(part.text) && files.test(file)))
    .flatMap((part) =>
      wordsOf(part.text).flatMap(({ word, index }) => {
        const instead = avoid.get(word) ?? americanOf(word);
        if (!instead) return [];
        const line = text.slice(0, part.start + index).split("\n").length;
        return [{ file, line, message: `"${word}" in ${part.kind} (write: ${instead})` }];
      }),
    );
  return [...words, ...checkPhrases(file, text, parts), ...checkOpenings(file, text, tokens)];
}

function checkPhrases(file, text, parts) {
  return parts
    .filter(({ kind }) => kind !== "identifier")
    .flatMap((part) =>
      [...phrases].flatMap(([phrase, instead]) => {
        const index = new RegExp(`\\b${phrase}s?\\b`, "i").exec(part.text)?.index;
        if (index === undefined) return [];
        const line = text.slice(0, part.start + index).split("\n").length;
        return [{ file, line, message: `"${phrase}" in ${part.kind} (write: ${instead})` }];
      }),
    );
}

function checkOpenings(file, text, tokens) {
  return tokens
    .filter(({ kind }) => kind === "comment")
    .flatMap((token) =>
      openings.flatMap(({ pattern, instead }) => {
        const found = pattern.exec(token.text);
        if (!found) return [];
        const line = text.slice(0, token.start).split("\n").length;
        return [{ file, line, message: `"${found[1]}" begins a doc comment (write: ${instead})` }];
      }),
    );
}

function linesOfComment(token) {
  if (token.kind === "pattern") return [];
  return token.kind === "comment" ? linesOf(token.text, token) : [token];
}

function linesOf(text, { kind, start: offset } = { kind: "prose", start: 0 }) {
  let start = offset;
  return text.split("\n").map((line) => {
    const part = { kind, text: line, start };
    start += line.length + 1;
    return part;
  });
}
