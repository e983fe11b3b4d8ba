import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { root } from "./node-packages.mjs";
import { packagesForHere, versionsMatch } from "./package-versions.mjs";

const { packages } = JSON.parse(readFileSync(`${root}package-lock.json`, "utf8"));

test("the lock file names every optional package of every package, as npm ci requires", () => {
  const missing = Object.entries(packages).flatMap(([parent, { optionalDependencies = {} }]) =>
    Object.entries(optionalDependencies)
      .filter(([name, version]) => packages[`node_modules/${name}`]?.version !== version)
      .map(([name, version]) => `${name}@${version} of ${parent || "the project"}`),
  );
  assert.deepEqual(missing, []);
});

test("a package for one platform names it in the lock file, so that it is not fetched elsewhere", () => {
  const binaries = Object.entries(packages).filter(([name]) => name.startsWith("node_modules/@biomejs/cli-"));
  assert.equal(binaries.length, 8);
  for (const [name, { os, cpu, libc, optional }] of binaries) {
    const [, system, processor, library] = /cli-([^-]+)-([^-]+)-?(.*)$/.exec(name);
    const expectedLibrary = system === "linux" ? [library || "glibc"] : undefined;
    assert.deepEqual(
      { os, cpu, libc, optional },
      {
        os: [system],
        cpu: [processor],
        libc: expectedLibrary,
        optional: true,
      },
    );
  }
});

test("every package is verified against a checksum of the lock file", () => {
  const unverified = Object.entries(packages).filter(
    ([name, { integrity = "" }]) => name !== "" && !/^sha512-[\w+/]{86}==$/.test(integrity),
  );
  assert.deepEqual(
    unverified.map(([name]) => name),
    [],
  );
});

test("packages run no scripts when they are installed, and none needs to", () => {
  assert.match(readFileSync(`${root}.npmrc`, "utf8"), /^ignore-scripts=true$/m);
  // Another package with an install script has to work without it: see docs/adr/0010-npm-install.md.
  const withScript = Object.keys(packages).filter((name) => packages[name].hasInstallScript);
  assert.deepEqual(
    withScript.map((name) => name.replace("node_modules/", "")),
    ["@bufbuild/buf", "esbuild", "koffi", "protobufjs"],
  );
});

test("the lock file names no registry", () => {
  assert.deepEqual(
    Object.keys(packages).filter((name) => packages[name].resolved !== undefined),
    [],
  );
});

const locked = {
  "": { version: "1.0.0" },
  "node_modules/a": { version: "1.0.0" },
  "node_modules/b-linux": { version: "2.0.0", optional: true },
  "node_modules/b-darwin": { version: "2.0.0", optional: true },
};
const installed = { "node_modules/a": { version: "1.0.0" }, "node_modules/b-linux": { version: "2.0.0" } };

for (const [title, present, expected] of [
  ["each package with its locked version, optional ones where they fit", installed, true],
  ["a package that is missing", { "node_modules/b-linux": { version: "2.0.0" } }, false],
  ["a package with another version", { ...installed, "node_modules/a": { version: "1.0.1" } }, false],
  [
    "an optional one with another version",
    { ...installed, "node_modules/b-linux": { version: "1.9.0" } },
    false,
  ],
  [
    "a package that the lock file no longer names",
    { ...installed, "node_modules/c": { version: "1.0.0" } },
    false,
  ],
]) {
  test(`installed packages: ${title}: ${expected ? "current" : "to be installed again"}`, () => {
    assert.equal(versionsMatch(locked, present), expected);
  });
}

test("the packages for this machine are those of its platform and architecture", () => {
  const all = packagesForHere(packages);
  assert.ok(all.includes(`node_modules/node-linux-${process.arch}`));
  assert.deepEqual(
    all.filter((path) => /darwin|win32|freebsd/.test(path)),
    [],
  );
});
