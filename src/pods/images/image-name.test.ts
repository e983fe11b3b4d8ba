import assert from "node:assert/strict";
import { test } from "node:test";
import { parseImageName, repositoryOf, withDefaultTag } from "./image-name.ts";

const digest = `sha256:${"a".repeat(64)}`;
const table: [text: string, withTag: string | undefined][] = [
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
  ["", undefined],
  [" busybox", undefined],
  ["busybox ", undefined],
  ["busybox\n", undefined],
  ["BusyBox", undefined],
  ["busybox:", undefined],
  ["busybox:-x", undefined],
  [`busybox:${"x".repeat(129)}`, undefined],
  ["busybox@sha256:abc", undefined],
  ["busybox@", undefined],
  ["a//b", undefined],
  ["/a", undefined],
  ["a/", undefined],
  ["a/-b", undefined],
  ["a/b_", undefined],
  ["a/b___c", undefined],
  ["a..b", undefined],
  ["http://registry.test/demo", undefined],
  ["a".repeat(64), undefined],
  ["A".repeat(64), undefined],
  [`r.test/${"a".repeat(256)}`, undefined],
];
for (const [text, expected] of table)
  test(`image name: ${JSON.stringify(text).slice(0, 60)} ${expected ? "is one" : "is none"}`, () =>
    assert.equal(withDefaultTag(text), expected));

test("an image name has a repository, a tag and a digest", () =>
  assert.deepEqual(
    { ...parseImageName(`localhost:5000/a/b:v1@${digest}`) },
    { name: "localhost:5000/a/b", tag: "v1", digest },
  ));

test("a long bad name is refused quickly", () => {
  const before = performance.now();
  assert.equal(withDefaultTag(`${"a-".repeat(5000)}!`), undefined);
  assert.equal(withDefaultTag(`${"a.".repeat(5000)}/!`), undefined);
  assert.ok(performance.now() - before < 10_000); // backtracking would take for ever
});

const repositories: [image: string, repository: string | undefined][] = [
  ["busybox", "docker.io/library/busybox"],
  ["busybox:1.35", "docker.io/library/busybox"],
  ["team/app", "docker.io/team/app"],
  ["docker.io/busybox", "docker.io/library/busybox"],
  ["index.docker.io/team/app:1", "docker.io/team/app"],
  ["localhost/app", "localhost/app"],
  ["localhost:5000/app:1", "localhost:5000/app"],
  ["quay.io/team/app@sha256:0123456789abcdef0123456789abcdef", "quay.io/team/app"],
  ["No Name", undefined],
];
for (const [image, repository] of repositories)
  test(`${image} is in the repository ${repository}`, () => assert.equal(repositoryOf(image), repository));
