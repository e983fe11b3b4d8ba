import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { importsOf } from "./import-rule.mjs";

/**
 * Each test is either long or small: it is long if its name or the name of an enclosing suite has the mark of test/long.ts, and small
 * otherwise. So no test is in both, and none is in neither.
 */
const patternOf = {
  small: "--test-skip-pattern=/\\[test:all\\]/",
  long: "--test-name-pattern=/\\[test:all\\]/",
};

/** The sizes and the file name filters that the arguments of a test run select, and whether files that failed are run again. */
export function parseArguments(args) {
  const { values, positionals: filters } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      all: { type: "boolean", default: false },
      rest: { type: "boolean", default: false },
      "repeat-failed": { type: "boolean", default: false },
    },
  });
  const sizes = values.rest ? ["long"] : values.all ? ["small", "long"] : ["small"];
  return { sizes, filters, repeatFailed: values["repeat-failed"] };
}

/**
 * One job for each group of files and each size. Only a file that imports `marker`, directly or indirectly, can have long tests; other files are
 * not loaded for them.
 */
export function testJobs(groups, sizes, { marker, importsOf }) {
  const hasLong = importers(marker, importsOf);
  return sizes.flatMap((size) =>
    groups
      .map((files) => ({ size, files: size === "long" ? files.filter(hasLong) : files }))
      .filter(({ files }) => files.length > 0)
      .map((job) => ({ ...job, options: [patternOf[size]] })),
  );
}

/** Whether a file imports `marker`, directly or indirectly. */
function importers(marker, importsOf) {
  const imports = new Map();
  return (file) => {
    const seen = new Set([file]);
    for (const one of seen) {
      if (one === marker) return true;
      if (!imports.has(one)) imports.set(one, importsOf(one));
      for (const next of imports.get(one)) seen.add(next);
    }
    return false;
  };
}

/** The files of the project that a source file imports. */
export function importsIn(root) {
  return (file) =>
    importsOf(readFileSync(join(root, file), "utf8"))
      .filter(({ specifier }) => specifier.startsWith("."))
      .map(({ specifier }) => join(dirname(file), specifier))
      .filter((path) => existsSync(join(root, path)));
}
