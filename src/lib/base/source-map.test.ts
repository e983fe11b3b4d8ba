import assert from "node:assert/strict";
import { SourceMap } from "node:module";
import { test } from "node:test";
import { build } from "esbuild";
import { sourcePositions } from "./source-map.ts";

const map = {
  sources: ["../src/a.ts", "../src/b.ts"],
  // Line 0: columns 0 -> a 0:0, 9 -> a 1:4; line 1: nothing; line 2: 2 -> b 0:3 (with a name), 8 -> no source.
  mappings: "AAAA,SACI;;ECDDA,M",
};

const rows: [rule: string, line: number, column: number, expected: string | undefined][] = [
  ["the beginning of a mapping", 0, 0, "../src/a.ts 0:0"],
  ["within a mapping", 0, 8, "../src/a.ts 0:0"],
  ["the next mapping of the line", 0, 9, "../src/a.ts 1:4"],
  ["after the last mapping of the line", 0, 500, "../src/a.ts 1:4"],
  ["a line without mappings", 1, 3, undefined],
  ["before the first mapping of the line", 2, 1, undefined],
  ["a mapping with a name, in another source, further up", 2, 7, "../src/b.ts 0:3"],
  ["a mapping without a source", 2, 8, undefined],
  ["a line beyond the end", 9, 0, undefined],
];

for (const [rule, line, column, expected] of rows)
  test(`position in a source map: ${rule}`, () => {
    const [found] = sourcePositions(map, [{ line, column }]);
    assert.equal(found && `${found.source} ${found.line}:${found.column}`, expected);
  });

test("several positions, in any order", () => {
  const positions = [2, 0, 0].map((line, index) => ({ line, column: [7, 9, 0][index]! }));
  assert.deepEqual(
    sourcePositions(map, positions).map((found) => found?.source),
    ["../src/b.ts", "../src/a.ts", "../src/a.ts"],
  );
  assert.deepEqual(sourcePositions(map, []), []);
});

test("each position of a minified file is where the source maps of Node.js have it", async () => {
  const { outputFiles } = await build({
    entryPoints: [`${import.meta.dirname}/source-map.ts`, `${import.meta.dirname}/errors.ts`],
    write: false,
    minify: true,
    sourcemap: "external",
    outdir: "/out",
  });
  for (const [index, { text }] of outputFiles.entries()) {
    if (index % 2 > 0) continue;
    const file = JSON.parse(text);
    const known = new SourceMap(file);
    const lines = outputFiles[index + 1]!.text.split("\n");
    const positions = lines.flatMap((line, number) =>
      [...line].map((_, column) => ({ line: number, column })),
    );
    const all = sourcePositions(file, positions);
    assert.ok(all.filter(Boolean).length > 500);
    for (const [i, found] of all.entries()) {
      const { line, column } = positions[i]!;
      const entry = known.findEntry(line, column);
      const expected = "originalLine" in entry ? `${entry.originalLine}:${entry.originalColumn}` : undefined;
      assert.equal(found && `${found.line}:${found.column}`, expected, `${line}:${column}`);
    }
  }
});
