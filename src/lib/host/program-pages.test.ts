import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { releaseProgramPages, unmodifiedFileMappings } from "./program-pages.ts";

const smaps = (permissions: string, path: string, { anonymousKb = 0, swapKb = 0, inode = "42" } = {}) =>
  `1000-3000 ${permissions} 00000000 fe:01 ${inode}       ${path}
Size:                  8 kB
Rss:                   8 kB
Anonymous:             ${anonymousKb} kB
AnonHugePages:         0 kB
Swap:                  ${swapKb} kB
SwapPss:               0 kB
VmFlags: rd ex mr mw me
`;
/** The code of a program, at another address. */
const code = (path: string) => smaps("r-xp", path).replace("1000-3000", "5000-6000");

const rows: [rule: string, text: string, isFound: boolean][] = [
  ["code of a program", smaps("r-xp", "/usr/bin/node"), true],
  ["constants of a program", smaps("r--p", "/usr/bin/node"), true],
  ["a path with spaces", smaps("r-xp", "/a path/node (deleted)", { inode: "43" }), true],
  ["relocated constants", smaps("r--p", "/usr/bin/node", { anonymousKb: 4 }), false],
  ["relocated constants in swap", smaps("r--p", "/usr/bin/node", { swapKb: 4 }), false],
  ["patched code", smaps("r-xp", "/usr/bin/node", { anonymousKb: 8 }), false],
  ["variables", smaps("rw-p", "/usr/bin/node"), false],
  ["a shared mapping", smaps("r--s", "/usr/bin/node"), false],
  ["memory of no file", smaps("r-xp", "[vdso]", { inode: "0" }), false],
  ["a file without code, which may be unmapped", smaps("r--p", "/etc/ld.so.cache", { inode: "7" }), false],
];

for (const [rule, text, isFound] of rows)
  test(`${rule}: ${isFound ? "its pages can be released" : "its pages are kept"}`, () => {
    const others = smaps("rw-p", "[heap]", { inode: "0", anonymousKb: 4 });
    assert.deepEqual(unmodifiedFileMappings(others + text + code("/usr/bin/node") + others), [
      ...(isFound ? [{ start: 0x1000n, end: 0x3000n }] : []),
      { start: 0x5000n, end: 0x6000n },
    ]);
  });

test("a process whose pages were released maps less of its files and continues to work", async () => {
  const residentKb = () =>
    Number(/^RssFile:\s+(\d+) kB$/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1]);
  const before = residentKb();
  await releaseProgramPages();
  assert.ok(residentKb() < before - 5000, `${before} kB, then ${residentKb()} kB`);
  assert.equal(JSON.stringify(Array.from({ length: 3 }, (_, i) => ({ i }))), '[{"i":0},{"i":1},{"i":2}]');
});
