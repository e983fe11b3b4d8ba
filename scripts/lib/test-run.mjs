// Runs under Node 24: every check of the project, then the tests of the selected sizes; a failure does not stop the rest.
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "./bundle.mjs";

import { installDebianPackages } from "./debian-packages.mjs";

import { checkGeneratedCode } from "./generated-code.mjs";
import { provideInstalledPrograms } from "./installed-programs.mjs";
import { provideMachineImage } from "./machine-image.mjs";
import { provideNewerPrograms } from "./newer-debian.mjs";
import { node24, root } from "./node-packages.mjs";
import { print, reportProgress, seconds } from "./print.mjs";
import { runTool } from "./run-tool.mjs";
import { secondAttempts } from "./second-attempt.mjs";
import { slowestFirst } from "./test-order.mjs";
import { runPool } from "./test-pool.mjs";
import { importsIn, parseArguments, testJobs } from "./test-sizes.mjs";
import { provideUnpackedPrograms } from "./unpacked-programs.mjs";

const { sizes, filters, repeatFailed } = parseArguments(process.argv.slice(2));
const scratch = mkdtempSync(join(tmpdir(), "kubelet-ts-test-"));
const steps = [];
const totals = { tests: 0, passed: 0, failed: 0, skipped: 0, todo: 0, cancelled: 0 };
const skipped = [];
const failures = [];
/** Failures of files that passed when they were run again. */
const flaky = [];
/** Built concurrently with the steps and tests that do not need it. */
let machineImage;

try {
  const isRoot = process.getuid() === 0;
  if (isRoot) {
    await step("Debian packages", installDebianPackages);
    await step("newer programs", provideNewerPrograms);
    await step("unpacked programs", provideUnpackedPrograms);
    await step("installed programs", provideInstalledPrograms);
    if (sizes.includes("long") && testFiles("test/machine/*.test.ts").length > 0)
      machineImage = provideMachineImage();
  } else {
    skipped.push("tests against real containerd (1.6 and 2.x): they need root");
    if (sizes.includes("long")) skipped.push("tests in a User-Mode Linux guest: they need root");
  }
  if (!sizes.includes("long")) skipped.push("long tests: npm run test:all runs them");
  await step("build", async () => void (await build()));
  const checked = filters.length === 0 && sizes.includes("small") ? checks() : undefined;
  // The disk image is built at the same time: only the tests that need it wait for it.
  const provided = machineImage && step("machine image", () => machineImage);
  await tests([
    // Unit tests of a folder share a process, which is many times faster; those that start processes get one for each file.
    ...jobsOf("{src,scripts}/**/*.test.{ts,mjs}", {
      options: ["--test-isolation=none", "--test-timeout=300000"],
      groupOf: (file) =>
        file
          .split("/")
          .slice(0, /^src\/(kubelet|lib)\//.test(file) ? 3 : 2)
          .join("/"),
    }),
    ...jobsOf("test/**/*.test.ts", {
      // The time limit applies to a whole file, too, and some files kill a node fifty times on a machine that others use.
      options: ["--test-timeout=1800000"],
      groupOf: (file) => file,
    }).map((job) => (needsMachine(job) ? { ...job, after: provided } : job)),
  ]);
  await checked;
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
summary();

async function checks() {
  await step("format and lint", () =>
    runTool("node_modules/@biomejs/biome/bin/biome", ["ci", "--colors=off", "."]),
  );
  await step("import rule", () => runTool("scripts/check-imports.mjs", []));
  await step("event rule", () => runTool("scripts/check-events.mjs", []));
  await step("program rule", () => runTool("scripts/check-programs.mjs", []));
  await step("walk rule", () => runTool("scripts/check-walks.mjs", []));
  await step("export rule", () => runTool("scripts/check-exports.mjs", []));
  await step("documents", () => runTool("scripts/check-docs.mjs", []));
  await step("word list", () => runTool("scripts/check-words.mjs", []));
  await step("parity", () => runTool("scripts/check-parity.mjs", ["--current"]));
  await step("types", () => runTool("node_modules/typescript/bin/tsc", ["--noEmit"]));
  await step("types of the page", () =>
    runTool("node_modules/typescript/bin/tsc", ["--noEmit", "-p", "src/console/page"]),
  );
  await step("generated code", () => checkGeneratedCode(scratch));
}

async function step(name, work) {
  const started = Date.now();
  let problem;
  try {
    problem = await work();
  } catch (error) {
    problem = error.stack ?? String(error);
  }
  if (problem) print(`✖ ${name}\n${problem}`);
  else print(`✔ ${name} (${seconds(started)})`);
  steps.push({ name, ok: !problem, time: seconds(started) });
}

/** A job for each group of test files, the largest group first. */
function jobsOf(pattern, { options, groupOf }) {
  const groups = [...Map.groupBy(testFiles(pattern), groupOf).values()].sort((a, b) => b.length - a.length);
  const jobs = testJobs(groups, sizes, { marker: "test/long.ts", importsOf: importsIn(root) });
  return jobs.map((job) => ({ ...job, options: [...options, ...job.options] }));
}

function needsMachine({ size, files }) {
  return size === "long" && files.some((file) => file.startsWith("test/machine/"));
}

async function tests(jobs) {
  if (jobs.length === 0) return;
  await step("tests", async () => {
    const failed = [];
    const attempt = (job) => testGroup(job.files, job.options);
    const again = (job) => {
      print(`\nAgain, alone: ${job.files.join(" ")}`);
      return attempt(job);
    };
    const run = async (job) => {
      const result = await attempt(job);
      if (result.problem) failed.push({ job, result });
      else add(result);
    };
    const allFiles = fileCount(jobs);
    let doneFiles = 0;
    const end = reportProgress("tests", {
      howMuch: () => `${doneFiles} of ${allFiles} files, ${fileCount(failed.map(({ job }) => job))} failed`,
      everyMs: 60_000,
    });
    await runPool(slowestFirst(jobs), (job) => run(job).finally(() => (doneFiles += job.files.length)));
    end();
    const final = repeatFailed
      ? await secondAttempts(failed, again)
      : { results: failed.map((f) => f.result), flaky: [] };
    flaky.push(...final.flaky.flatMap((result) => result.failures));
    final.results.forEach(add);
    return final.results.some(({ problem }) => problem) ? "see above" : undefined;
  });
}

function fileCount(jobs) {
  return jobs.reduce((sum, { files }) => sum + files.length, 0);
}

/** The files that the filters select. */
function testFiles(pattern) {
  return globSync(pattern, { cwd: root, exclude: ["src/lib/gen/**", "test/fixtures/**"] })
    .filter((file) => filters.length === 0 || filters.some((filter) => file.includes(filter)))
    .sort();
}

async function testGroup(files, options) {
  const counts = join(mkdtempSync(join(scratch, "group-")), "counts.json");
  const reporter = `--test-reporter=${root}scripts/lib/test-reporter.mjs`;
  const seeded = `--import=${root}scripts/lib/property-seed.mjs`;
  const args = [seeded, "--test", ...options, reporter, ...files];
  // Tests start hundreds of processes from the same sources: they use this compile cache.
  const env = {
    KUBELET_TS_TEST_COUNTS: counts,
    KUBELET_TS_TEST_PROGRAM: `${root}dist/kubelet.cjs`,
    NODE_COMPILE_CACHE: `${root}.cache/compile`,
  };
  const problem = await runTool(node24, args, { show: true, env });
  if (!existsSync(counts)) {
    // The runner itself exited early: the other files are still run.
    const cause = problem ?? "reported nothing";
    return {
      problem: cause,
      counted: { failed: 1 },
      failures: [{ where: files.join(" "), title: "test runner", cause }],
    };
  }
  const counted = JSON.parse(readFileSync(counts, "utf8"));
  return { problem, counted, failures: counted.failures };
}

function add({ counted, failures: failed }) {
  for (const key of Object.keys(totals)) totals[key] += counted[key] ?? 0;
  failures.push(...failed);
}

function summary() {
  print("\nsteps");
  for (const { name, ok, time } of steps) print(`  ${ok ? "✔" : "✖"} ${name.padEnd(26)} ${time.padStart(8)}`);
  for (const what of skipped) print(`\nSkipped: ${what}.`);
  const failedSteps = steps.filter((s) => !s.ok).map((s) => s.name);
  print("");
  print(`ℹ tests ${totals.tests}`);
  print(`ℹ pass ${totals.passed}`);
  print(`ℹ fail ${totals.failed}`);
  print(`ℹ cancelled ${totals.cancelled}`);
  print(`ℹ skipped ${totals.skipped}`);
  print(`ℹ todo ${totals.todo}`);
  for (const failure of flaky) printFailure("! Flaky, passed when run again alone:", failure);
  // The last lines are often the only ones kept: they name the failures and their reasons.
  for (const failure of failures.slice(0, 10)) printFailure("✖", failure);
  if (failedSteps.length > 0) print(`FAILED: ${failedSteps.join(", ")}`);
  print(`${totals.passed} passed, ${totals.failed + totals.cancelled} failed, ${totals.skipped} skipped`);
  process.exitCode = failedSteps.length > 0 ? 1 : 0;
}

function printFailure(sign, { where, title, cause }) {
  print(`${sign} ${where} ${title}\n${cause.split("\n").slice(0, 12).join("\n").slice(0, 1200)}`);
}
