import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { root } from "./node-packages.mjs";
import { importsIn, parseArguments, testJobs } from "./test-sizes.mjs";

const marker = "test/long.ts";

for (const [args, expected] of [
  [[], { sizes: ["small"], filters: [], repeatFailed: false }],
  [["pods", "test/e2e"], { sizes: ["small"], filters: ["pods", "test/e2e"], repeatFailed: false }],
  [["--all"], { sizes: ["small", "long"], filters: [], repeatFailed: false }],
  [["--all", "kill"], { sizes: ["small", "long"], filters: ["kill"], repeatFailed: false }],
  // npm run test:all -- --rest
  [["--all", "--rest"], { sizes: ["long"], filters: [], repeatFailed: false }],
  [["--repeat-failed"], { sizes: ["small"], filters: [], repeatFailed: true }],
])
  test(`the arguments ${JSON.stringify(args)} mean ${JSON.stringify(expected)}`, () => {
    assert.deepEqual(parseArguments(args), expected);
  });

test("an unknown option is an error", () => {
  assert.throws(() => parseArguments(["--rset"]), /Unknown option '--rset'/);
});

/** A project with test files that use all helpers; each test prints its name. */
function sampleProject(t) {
  const dir = mkdtempSync(join(tmpdir(), "test-sizes-"));
  t.after(() => rmSync(dir, { recursive: true }));
  mkdirSync(join(dir, "test/node"), { recursive: true });
  writeFileSync(join(dir, "package.json"), '{ "type": "module" }');
  cpSync(join(root, marker), join(dir, marker));
  const files = {
    "test/node/helper.ts": `
      import { describe } from "node:test";
      import { long } from "../long.ts";
      export const onEach = (name, suite) => {
        for (const version of ["old", "new"])
          describe(version === "new" ? \`\${name} (new)\` : long(\`\${name} (old)\`), () => suite(version));
      };`,
    "test/small.test.ts": `
      import { describe, test } from "node:test";
      test("plain", () => console.log("ran: plain"));
      describe("long names [and brackets]", () => test("inside", () => console.log("ran: inside")));`,
    "test/one.test.ts": `
      import { test } from "node:test";
      import { long } from "./long.ts";
      test(long("takes an hour"), () => console.log("ran: an hour"));
      test("takes a second", () => console.log("ran: a second"));`,
    "test/rounds.test.ts": `
      import { test } from "node:test";
      import { rounds } from "./long.ts";
      for (const { count, named } of rounds("SAMPLE_ROUNDS", 2, 50))
        test(named(\`survives \${count} kills\`), () => console.log(\`ran: \${count} kills\`));`,
    "test/node/suites.test.ts": `
      import { before, describe, test } from "node:test";
      import { onEach } from "./helper.ts";
      onEach("a node", (version) => {
        before(() => console.log(\`started: \${version}\`));
        test("runs", () => console.log(\`ran: \${version}\`));
        describe("and inside", () => test("runs too", async (t) => {
          await t.test("a part", () => console.log(\`ran: \${version} inside\`));
        }));
      });`,
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(dir, name), text);
  return { dir, files: Object.keys(files).filter((name) => name.endsWith(".test.ts")) };
}

function lines(dir, args, env = {}) {
  const { NODE_TEST_CONTEXT: _, ...outer } = process.env;
  const done = spawnSync(process.execPath, ["--test", "--test-reporter=tap", ...args], {
    cwd: dir,
    env: { ...outer, ...env },
    encoding: "utf8",
  });
  assert.equal(done.status, 0, done.stdout + done.stderr);
  return [...done.stdout.matchAll(/^# ((?:ran|started): .*)$/gm)].map(([, line]) => line).sort(byText);
}

function byText(a, b) {
  return a < b ? -1 : a > b ? 1 : 0;
}

function ran(dir, files, sizes, env) {
  const jobs = testJobs(
    files.map((file) => [file]),
    sizes,
    { marker, importsOf: importsIn(dir) },
  );
  return jobs.flatMap((job) => lines(dir, [...job.options, ...job.files], env)).sort(byText);
}

test("each test is in one of the two sizes: none in both, none in neither", (t) => {
  const { dir, files } = sampleProject(t);
  const everything = lines(dir, files);
  const small = ran(dir, files, ["small"]);
  const long = ran(dir, files, ["long"]);
  assert.deepEqual(small, [
    "ran: 2 kills",
    "ran: a second",
    "ran: inside",
    "ran: new",
    "ran: new inside",
    "ran: plain",
    "started: new",
  ]);
  assert.deepEqual(long, ["ran: 50 kills", "ran: an hour", "ran: old", "ran: old inside", "started: old"]);
  assert.deepEqual([...small, ...long].sort(byText), everything);
});

test("with the number of rounds set by the environment, the test runs once, as a small test", (t) => {
  const { dir } = sampleProject(t);
  assert.deepEqual(ran(dir, ["test/rounds.test.ts"], ["small", "long"], { SAMPLE_ROUNDS: "7" }), [
    "ran: 7 kills",
  ]);
  assert.deepEqual(ran(dir, ["test/rounds.test.ts"], ["long"], { SAMPLE_ROUNDS: "7" }), []);
});

test("only files that import the mark, directly or indirectly, are loaded for long tests", () => {
  const imports = { a: ["b"], b: ["c", "a"], c: [marker], d: ["e"], e: ["d"], [marker]: [] };
  const groups = [["a", "d"], ["e"], ["c"]];
  const jobs = testJobs(groups, ["small", "long"], { marker, importsOf: (file) => imports[file] });
  assert.deepEqual(
    jobs.map(({ size, files }) => [size, ...files]),
    [
      ["small", "a", "d"],
      ["small", "e"],
      ["small", "c"],
      ["long", "a"],
      ["long", "c"],
    ],
  );
});

test("only test/long.ts contains the mark, so every file with long tests is loaded for them", () => {
  const mark = /\[test:all\]/;
  assert.match(readFileSync(join(root, marker), "utf8"), mark);
  const others = globSync("{src,scripts,test}/**/*.{ts,mjs}", { cwd: root, exclude: ["src/lib/gen/**"] })
    .filter((file) => file !== marker && !file.startsWith("scripts/lib/test-sizes."))
    .filter((file) => mark.test(readFileSync(join(root, file), "utf8")));
  assert.deepEqual(others, []);
});
