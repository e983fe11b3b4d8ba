import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { checkComments, checkDocument, checkFolders, checkIndexes } from "./document-rule.mjs";

const project = {
  paths: new Set(
    [
      "docs/GUIDE.md",
      "docs/adr/0001-x.md",
      "src/kubelet/pods/volumes/manager/plan.ts",
      "src/kubelet/pods/volumes/README.md",
      "src/kubelet/pods/images/plan.ts",
      "src/kubelet/pods/images/puller.ts",
      "src/lib/base/clock.ts",
    ].flatMap((file) => file.split("/").map((_part, index, parts) => parts.slice(0, index + 1).join("/"))),
  ),
  names: new Set(["planPod", "PodWorkers", "update", "#add", "syncFrequency", "FileSource", "Clock"]),
  members: new Map([
    ["PodWorkers", new Set(["update", "#add"])],
    ["VolumeLocks", new Set()],
  ]),
  literals: new Set(["CrashLoopBackOff", "pods/status", "memory.available"]),
  scripts: new Set(["bench"]),
  headings: () => new Set(["the-plan"]),
};

const rows = [
  ["a path from the root", "`src/lib/base/clock.ts`"],
  ["a path from src, src/kubelet and src/lib", "`lib/base` `pods/images/plan.ts` `base/clock.ts`"],
  ["a path from the document's folder", "`adr/0001-x.md` `../src/lib/`"],
  ["the end of one path", "`puller.ts` `manager/plan.ts`"],
  ["the end of two paths", "`plan.ts`", /may be each of .*images\/plan\.ts.*: write more/],
  ["a missing file", "`pods/images/gone.ts`", /no "pods\/images\/gone\.ts"/],
  ["a missing bare file", "`gone.ts`", /no "gone\.ts"/],
  ["a missing folder", "`pods/gone/`", /no "pods\/gone"/],
  ["installed and built files", "`dist/` `node_modules/.bin` `.cache/x`"],
  ["a missing single folder", "`gone/`", /no "gone"/],
  ["a missing folder without a trailing slash", "`pods/gone`", /no "pods\/gone"/],
  ["a line of a file", "`puller.ts:12`"],
  ["files by pattern", "`pods/images/*.ts` `pods/<part>/plan.ts` `pods/{images,volumes}`"],
  ["a pattern without files", "`pods/images/*.go.ts`", /no "pods\/images\/\*\.go\.ts"/],
  ["one of several is missing", "`pods/{images,gone}`", /no "pods\/gone"/],
  ["a string of the sources", "`pods/status` `CrashLoopBackOff` `memory.available`"],
  ["paths of machines and of HTTP", "`/var/log/pods` `<root-dir>/pods/x` `GET /pods` `.ts`"],
  ["a function", "`planPod` `planPod(pod, observed)` `planPod()`"],
  ["a missing function", "`planChanges`", /no source declares "planChanges"/],
  ["a call of a missing function", "`plan(pod, { a: 1 })`", /declares "plan"/],
  ["a missing private name", "`#gone`", /declares "#gone"/],
  ["a missing class", "`Gone`", /declares "Gone"/],
  ["a member", "`PodWorkers.update` `PodWorkers.#add` `PodWorkers.update(uid)`"],
  ["a member of another class", "`PodWorkers.syncFrequency`", /"PodWorkers" has no "syncFrequency"/],
  ["names of JavaScript and Node.js", "`Date.now()` `AbortSignal` `util.getCallSites`"],
  ["a member that JavaScript does not have", "`Date.later()`", /declares "Date"/],
  ["a field", "`syncFrequency` `syncFrequency: 1m`"],
  [
    "plain English, flags, metrics, environment variables",
    "`sync` `--root-dir` `kubelet_pods` `KILL_ROUNDS` `ADD`",
  ],
  ["a command with a file", "`node --test src/lib/base/clock.ts`"],
  ["a command with a missing file", "`node --test src/lib/gone.ts`", /no "src\/lib\/gone\.ts"/],
  ["a script", "`npm run bench -- burst` `npm test -- gone/part`"],
  ["a missing script", "`npm run gone`", /no script "gone"/],
  ["a block with a missing file", "```\nnode src/gone.ts\n```", /no "src\/gone\.ts"/, 3],
  ["a block with names", "```\nplanChanges gone.ts\n```"],
  ["a link", "[x](adr/0001-x.md) [y](https://example.com/gone.ts) [z](#the-plan) [w](adr/)"],
  ["a link to a missing file", "[x](adr/0002-y.md)", /no "docs\/adr\/0002-y\.md"/],
  ["a link to a missing heading", "[x](adr/0001-x.md#gone)", /no heading "gone"/],
  ["a decision", "ADR 1, [ADR 1](adr/0001-x.md)"],
  ["a missing decision", "as in ADR 2", /no ADR 2/],
  ["a link to another decision", "[ADR 12](adr/0001-x.md)", /no ADR 12|leads to ADR 1/, 2, 2],
  ["a number of lines", "a client of 900 lines", /number of lines/],
  ["a rate of lines", "1,800 lines a second, with 100 lines per page"],
  ["locks", "there are no locks", /there is VolumeLocks/],
  ["a conflict marker", ">>>>>>> 1234 (Add a row)", /a conflict marker of a merge/],
  ["a span over two lines", "`planPod(pod,\n  observed)`"],
];
for (const [what, text, expected, line = 2, count = 1] of rows) {
  test(`document rule: ${what}`, () => {
    const problems = checkDocument("docs/GUIDE.md", `# Guide\n${text}\n`, project);
    if (!expected) return assert.deepEqual(problems, []);
    assert.equal(problems.length, count);
    for (const problem of problems) {
      assert.match(problem.message, expected);
      assert.equal(problem.line, line);
    }
  });
}

const owns = "Reads pods. Writes nothing. Owns nothing.";
const folders = [
  ["a component with a README that states it", { "src/cli/x.ts": "", "src/cli/README.md": owns }],
  ["a component without a README", { "src/cli/x.ts": "" }, ['src/cli/README.md: "src/cli" has no README']],
  [
    "a component of a group",
    { "src/kubelet/pods/a/b/x.ts": "", "src/kubelet/pods/README.md": "" },
    ['src/kubelet/pods/a/README.md: "src/kubelet/pods/a" has no README'],
  ],
  [
    "a README that states too little",
    { "src/cli/x.ts": "", "src/cli/README.md": "It reads." },
    [
      "src/cli/README.md: does not state what the component writes",
      "src/cli/README.md: does not state what the component owns",
    ],
  ],
  ["a folder of a component", { "src/cli/a/x.ts": "", "src/cli/README.md": owns }],
  ["generated code", { "src/lib/gen/v1/x.ts": "" }],
];
for (const [what, files, expected = []] of folders) {
  test(`document rule: ${what}`, () => {
    const all = { "src/README.md": "", ...files };
    const problems = checkFolders({ paths: new Set(Object.keys(all)), read: (file) => all[file] });
    assert.deepEqual(
      problems.map(({ file, message }) => `${file}: ${message}`),
      expected,
    );
  });
}

test("document rule: the command names file and line and fails", () => {
  const root = mkdtempSync(join(tmpdir(), "document-rule-"));
  const write = (file, text) => {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), text);
  };
  const run = () => {
    const script = new URL("../check-docs.mjs", import.meta.url).pathname;
    return spawnSync(process.execPath, [script, root], { encoding: "utf8" });
  };
  try {
    write("package.json", "{}");
    write("src/lib/base/clock.ts", "export class Clock {\n  now(): Date {\n    return new Date();\n  }\n}\n");
    write("src/README.md", "`lib/base/clock.ts` has `Clock.now`.\n");
    write("src/lib/README.md", "Libraries.\n");
    write("src/lib/base/README.md", "Reads the time. Writes and owns nothing.\n");
    assert.deepEqual([run().stderr, run().status], ["", 0]);
    write("src/README.md", "The clock:\n`Clock.later` in `lib/base/watch.ts`.\n");
    const done = run();
    assert.equal(done.status, 1);
    assert.match(
      done.stderr,
      /^src\/README\.md:2: no source declares "later"\nsrc\/README\.md:2: there is no "lib\/base\/watch\.ts"\n/,
    );
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
});

test("comments name only files and decisions that exist", () => {
  const source = [
    "/** See docs/GUIDE.md, puller.ts and ADR 1. */",
    "// docs/GONE.md",
    'const text = "gone.ts"; // gone.ts, /var/x.ts',
    "/* ADR 2 */",
  ].join("\n");
  assert.deepEqual(
    checkComments("src/a.ts", source, project).map(({ line, message }) => `${line} ${message}`),
    ['2 there is no "docs/GONE.md"', '3 there is no "gone.ts"', "4 there is no ADR 2"],
  );
});

test("an index lists each decision and each folder of tests", () => {
  const files = {
    "docs/adr/README.md": "[1](0001-x.md)",
    "docs/adr/0001-x.md": "",
    "docs/adr/0002-y.md": "",
    "test/README.md": "[a](a/README.md) `b/x.ts`",
    "test/long.ts": "",
    "test/a": "",
    "test/b": "",
    "test/c": "",
  };
  const problems = checkIndexes({ paths: new Set(Object.keys(files)), read: (file) => files[file] });
  assert.deepEqual(
    problems.map(({ file, message }) => `${file}: ${message}`),
    ['docs/adr/README.md: does not list "0002-y.md"', 'test/README.md: does not list "c"'],
  );
});
