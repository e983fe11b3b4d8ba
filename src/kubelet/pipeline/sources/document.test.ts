import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { assertGrowth } from "../../../../test/growth.ts";
import { parseDocument } from "./document.ts";

const parse = (text: string) => parseDocument(Buffer.from(text));

test("scalars are read as Kubernetes tools read them", () => {
  for (const [text, value] of [
    ["yes", true],
    ["off", false],
    ['"yes"', "yes"],
    ["0644", 420],
    ["0o644", 420],
    ["0x1f", 31],
    ["1_000", 1000],
    ["1e3", 1000],
    ["12:30", "12:30"],
    ["2026-01-01", "2026-01-01"],
    ["~", null],
    ["!!str 5", "5"],
    [".nan", Number.NaN],
  ] as const) {
    const parsed = parse(`a: ${text}\n`);
    assert.deepEqual("value" in parsed && parsed.value, { a: value }, text);
  }
});

test("valid documents", () => {
  for (const [text, value] of [
    ['{\n\t"a":\n\t\t1\n}', { a: 1 }],
    ["---\na: 1\n---\n", { a: 1 }],
    ["# comment\n---\na: 1\n...\n", { a: 1 }],
    ["\ufeffa: 1", { a: 1 }],
    ["a: &x [1]\nb: *x\nc: {<<: {z: 1}}", { a: [1], b: [1], c: { z: 1 } }],
  ] as const) {
    const parsed = parse(text);
    assert.deepEqual("value" in parsed && parsed.value, value, text);
  }
});

test("any other input is one problem with a line", () => {
  let bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n";
  for (let i = 1; i < 12; i++)
    bomb += `a${i}: &a${i} [${Array(10)
      .fill(`*a${i - 1}`)
      .join(",")}]\n`;
  for (const [name, text, line, message] of [
    ["empty", "", undefined, /is empty/],
    ["blanks", " \n\n", undefined, /is empty/],
    ["only comments", "# nothing\n", undefined, /no document/],
    ["tab", "a:\n\t- b\n", 2, /[Tt]abs/],
    ["unclosed", "a: 1\nb: [1,\n", 3, /Flow sequence/],
    ["undefined alias", "a: *x\n", undefined, /[Uu]nresolved alias/],
    ["alias bomb", bomb, undefined, /alias/],
    ["deep", "[".repeat(100_000), undefined, /too deeply/],
    ["binary", "a: \0b", undefined, /not a text file: byte 0x00 at offset 3/],
  ] as const) {
    const parsed = parse(text);
    assert.ok("problem" in parsed, name);
    if (line !== undefined) assert.equal(parsed.problem.line, line, name);
    assert.match(parsed.problem.message, message, name);
  }
  const latin1 = parseDocument(Buffer.from([0x61, 0x3a, 0x20, 0xe4]));
  assert.match("problem" in latin1 ? latin1.problem.message : "", /not UTF-8/);
});

test("what the Go kubelet reads with a part ignored is read with a warning", () => {
  for (const [name, text, value, line, warning] of [
    ["duplicate key", "a:\n  b: {c: 1}\n  b: {d: 2}\n", { a: { b: { d: 2 } } }, 3, /duplicate key "b"/],
    ["two documents", "a: 1\n---\nb: 2\n", { a: 1 }, 3, /second document/],
    ["a broken second document", "a: 1\n---\nb: [\n", { a: 1 }, 3, /second document/],
    [
      "large YAML",
      `a: 1\n${`# ${"x".repeat(1000)}\n`.repeat(2100)}`,
      { a: 1 },
      undefined,
      /2\.0 MiB of YAML/,
    ],
  ] as const) {
    const parsed = parse(text);
    assert.ok("value" in parsed, name);
    assert.deepEqual(parsed.value, value, name);
    assert.deepEqual(parsed.warnings.length, 1, name);
    assert.equal(parsed.warnings[0]?.line, line, name);
    assert.match(parsed.warnings[0]?.message ?? "", warning, name);
  }
});

test("large JSON is read", () => {
  const parsed = parse(JSON.stringify({ a: "x".repeat(2 * 1024 * 1024) }));
  assert.ok("value" in parsed);
});

test("a path has the position of its field, or of the nearest parent", () => {
  const text = [
    "metadata:",
    "  labels:",
    "    example.com/a: b",
    "spec:",
    "  containers:",
    "    - name: x",
    "      ports:",
    "        - {containerPort: 1,",
    "           name: y}",
  ].join("\n");
  const parsed = parse(text);
  assert.ok("positionOf" in parsed);
  for (const [path, line, column] of [
    ["metadata.labels[example.com/a]", 3, 5],
    ["spec.containers[0].name", 6, 7],
    ["spec.containers[0].image", 6, 7],
    ["spec.containers[0].ports[0].name", 9, 12],
    ["spec.containers[7]", 5, 3],
    ["spec", 4, 1],
    ["", 1, 1],
  ] as const)
    assert.deepEqual(parsed.positionOf(path), { line, column }, path);
});

describe("the time to find all positions is proportional to the size of the document", () => {
  const lines = (size: number, line: (i: number) => string) =>
    Array.from({ length: size }, (_, i) => line(i));
  const rows: [rule: string, text: (size: number) => string[], path: (i: number) => string][] = [
    ["fields of one mapping", (size) => ["spec:", ...lines(size, (i) => `  f${i}: 1`)], (i) => `spec.f${i}`],
    [
      "fields of an alias",
      (size) => ["a: &a {b: 1}", "list:", ...lines(size, () => "  - x"), "c: *a"],
      () => "c.b",
    ],
  ];
  for (const [rule, text, path] of rows)
    test(rule, () =>
      assertGrowth(1, 100, (size) => {
        const parsed = parse(text(size).join("\n"));
        assert.ok("positionOf" in parsed);
        const paths = Array.from({ length: 20 * size }, (_, i) => path(i % size));
        return () => paths.forEach(parsed.positionOf);
      }),
    );
});
