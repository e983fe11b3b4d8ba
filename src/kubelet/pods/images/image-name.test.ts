import assert from "node:assert/strict";
import { test } from "node:test";
import { parseImageName, repositoryOf, withDefaultTag } from "./image-name.ts";

const digest = `sha256:${"a".repeat(64)}`;
const lower = (repository: string) =>
  `invalid reference format: repository name (${repository}) must be lowercase`;
const invalid = "invalid reference format";
const table: [text: string, withTag: string | { problem: string }][] = [
  ["busybox", "busybox:latest"],
  ["busybox:1.36", "busybox:1.36"],
  ["library/busybox", "library/busybox:latest"],
  ["localhost/demo", "localhost/demo:latest"],
  ["localhost:5000/demo", "localhost:5000/demo:latest"],
  ["localhost:5000/demo:v1", "localhost:5000/demo:v1"],
  ["127.0.0.1:5000/a/b/c", "127.0.0.1:5000/a/b/c:latest"],
  ["[2001:db8::1]:5000/demo", "[2001:db8::1]:5000/demo:latest"],
  ["registry.test/a_b/c__d/e-f/g--h.i", "registry.test/a_b/c__d/e-f/g--h.i:latest"],
  ["Registry.Test/demo", "Registry.Test/demo:latest"],
  [`busybox@${digest}`, `busybox@${digest}`],
  [`busybox:1@${digest}`, `busybox:1@${digest}`],
  ["busybox:_x.Y-z", "busybox:_x.Y-z"],
  [`busybox@sha512:${"0".repeat(128)}`, `busybox@sha512:${"0".repeat(128)}`],
  ["", { problem: invalid }],
  [" busybox", { problem: invalid }],
  ["busybox ", { problem: invalid }],
  ["busybox\n", { problem: invalid }],
  ["BusyBox", { problem: lower("library/BusyBox") }],
  ["No Name:1", { problem: lower("library/No Name") }],
  ["Team/App", { problem: lower("App") }],
  ["registry.test/Team/app:V1", { problem: lower("Team/app") }],
  [`busybox@SHA256:${"a".repeat(64)}`, { problem: lower("library/busybox@SHA256") }],
  ["busybox:", { problem: invalid }],
  ["busybox:-x", { problem: invalid }],
  [`busybox:${"x".repeat(129)}`, { problem: invalid }],
  ["busybox@sha256:abc", { problem: invalid }],
  [`busybox@sha256:${"a".repeat(32)}`, { problem: "invalid checksum digest length" }],
  [`busybox@sha256:${"A".repeat(64)}`, { problem: "invalid checksum digest format" }],
  [`busybox@md5:${"a".repeat(32)}`, { problem: "unsupported digest algorithm" }],
  ["busybox@", { problem: invalid }],
  ["a//b", { problem: invalid }],
  ["/a", { problem: invalid }],
  ["a/", { problem: invalid }],
  ["a/-b", { problem: invalid }],
  ["a/b_", { problem: invalid }],
  ["a/b___c", { problem: invalid }],
  ["a..b", { problem: invalid }],
  ["http://registry.test/demo", { problem: invalid }],
  [
    "a".repeat(64),
    {
      problem: `invalid repository name (${"a".repeat(64)}), cannot specify 64-byte hexadecimal strings`,
    },
  ],
  ["A".repeat(64), { problem: lower(`library/${"A".repeat(64)}`) }],
  [`r.test/${"a".repeat(256)}`, { problem: "repository name must not be more than 255 characters" }],
];
for (const [text, expected] of table)
  test(`image name: ${JSON.stringify(text).slice(0, 60)} is ${typeof expected === "string" ? "valid" : "invalid"}`, () =>
    assert.deepEqual(withDefaultTag(text), typeof expected === "string" ? { image: expected } : expected));

test("an image name has a repository, a tag and a digest", () =>
  assert.deepEqual(
    { ...parseImageName(`localhost:5000/a/b:v1@${digest}`) },
    { name: "localhost:5000/a/b", tag: "v1", digest },
  ));

test("a long invalid name is rejected quickly", () => {
  const before = performance.now();
  assert.deepEqual(withDefaultTag(`${"a-".repeat(5000)}!`), { problem: invalid });
  assert.deepEqual(withDefaultTag(`${"a.".repeat(5000)}/!`), { problem: invalid });
  assert.ok(performance.now() - before < 10_000); // backtracking would take forever
});

const repositories: [image: string, repository: string | undefined][] = [
  ["busybox", "docker.io/library/busybox"],
  ["busybox:1.35", "docker.io/library/busybox"],
  ["team/app", "docker.io/team/app"],
  ["docker.io/busybox", "docker.io/library/busybox"],
  ["index.docker.io/team/app:1", "docker.io/team/app"],
  ["localhost/app", "localhost/app"],
  ["localhost:5000/app:1", "localhost:5000/app"],
  [`quay.io/team/app@${digest}`, "quay.io/team/app"],
  ["No Name", undefined],
];
for (const [image, repository] of repositories)
  test(`${image} ${repository ? `is in the repository ${repository}` : "has no repository"}`, () =>
    assert.equal(repositoryOf(image), repository));
