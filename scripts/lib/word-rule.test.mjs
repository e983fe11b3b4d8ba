import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { test } from "node:test";
import { tokenize, wordsOf } from "./source-text.mjs";
import { allowed, americanOf, checkWords, pending } from "./word-rule.mjs";

const root = new URL("../../", import.meta.url);
const found = (text, file = "src/a.ts") =>
  checkWords(file, text).map(({ line, message }) => [line, message.split(" (")[0]]);

for (const [what, source, expected] of [
  ["a camel-case identifier", "const lastWords = 1;", [[1, '"words" in identifier']]],
  ["a private name", "\nthis.#told();", [[2, '"told" in identifier']]],
  ["a constant in capitals", "const ASK_AGAIN = 1;", [[1, '"ask" in identifier']]],
  ["a line comment", "f(); // asked once", [[1, '"asked" in comment']]],
  ["the second line of a block comment", "/**\n * Whoever calls.\n */", [[2, '"whoever" in comment']]],
  ["a string", 'log("The agent said it");', [[1, '"said" in string']]],
  [
    "parts of a template, nested ones too",
    `\`a \${b ? \`news \${c}\` : { d }} told\``,
    [
      [1, '"news" in string'],
      [1, '"told" in string'],
    ],
  ],
  ["code inside of a template", `\`\${asked}\``, [[1, '"asked" in identifier']]],
  [
    "a string after a regular expression with quotes",
    'a.replace(/["`]/g, ""); b("told")',
    [[1, '"told" in string']],
  ],
  ["a string after a division", 'const x = a / b; y("said") / 2', [[1, '"said" in string']]],
  ["a phrase", "// The object is Created again.", [[1, '"created again" in comment']]],
  ["nothing in a longer phrase", "// many more", []],
  ["nothing in a regular expression", "const x = /told/;", []],
  ["nothing in a longer word", "const password = task; // wishbone, basket, mask", []],
  ["nothing in the user of the operating system", 'f("nobody")', []],
  ["the beginning of a doc comment", "/** What a pod uses. */", [[1, '"What" begins a doc comment']]],
  [
    "the beginning of a long doc comment",
    "\n/**\n * To be called once.\n */",
    [[2, '"To be" begins a doc comment']],
  ],
  ["nothing in the middle of a doc comment", "/** Decides what to do. Pods are to be kept. */", []],
])
  test(`finds words in ${what}`, () => assert.deepEqual(found(source), expected));

test("in documents prose counts, code and link targets do not", () => {
  const text = "The agent tells.\n\n`told` [link](told.md)\n\n```\nsaid\n```\n\nNobody.\n";
  assert.deepEqual(found(text, "docs/x.md"), [
    [1, '"tells" in prose'],
    [9, '"nobody" in prose'],
  ]);
});

test("splits identifiers as they are read", () => {
  const split = (text) => wordsOf(text).map(({ word }) => word);
  assert.deepEqual(split("lastWordsOfAPIServer"), ["last", "words", "of", "api", "server"]);
  assert.deepEqual(split("ASK_AGAIN_MS"), ["ask", "again", "ms"]);
});

test("a source file is split into identifiers, comments, strings and regular expressions, regardless of its braces", () => {
  const source = `const a = \`x\${{ b: \`y\` }.b}z\`; // end\nreturn /a/.test(a) ? 1 : 2;`;
  assert.deepEqual(
    tokenize(source).map(({ kind, text }) => `${kind} ${text}`),
    [
      ...[
        "identifier const",
        "identifier a",
        "string `x${",
        "identifier b",
        "string `y`",
        "identifier b",
        "string }z`",
      ],
      ...["comment // end", "identifier return", "pattern /a/", "identifier test", "identifier a"],
    ],
  );
});

for (const [british, american] of [
  ["behaviour", "behavior"],
  ["neighbours", "neighbors"],
  ["cancelled", "canceled"],
  ["relabelling", "relabeling"],
  ["serialised", "serialized"],
  ["initialisation", "initialization"],
  ["analysing", "analyzing"],
  ["towards", "toward"],
])
  test(`"${british}" is spelled "${american}"`, () => {
    assert.deepEqual(
      checkWords("src/a.ts", `// ${british}`)[0]?.message,
      `"${british}" in comment (write: ${american})`,
    );
  });

for (const word of [
  "hour",
  "four",
  "controlled",
  "cancellation",
  "exercise",
  "raised",
  "analysis",
  "premise",
  "installed",
])
  test(`"${word}" is American`, () => assert.equal(americanOf(word), undefined));

test("every path that is not covered yet exists, and every exception has its reason", () => {
  assert.deepEqual(
    pending.filter((path) => !existsSync(new URL(path, root))),
    [],
  );
  assert.ok(allowed.every(({ why }) => why.length > 0));
});
