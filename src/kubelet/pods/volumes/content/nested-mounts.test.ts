import assert from "node:assert/strict";
import { test } from "node:test";
import { assertGrowth } from "../../../../../test/growth.ts";
import { fakePod } from "../../../../lib/model/fake-pod.ts";
import { nestedMountPoints } from "./nested-mounts.ts";

const podWith = (own: readonly string[], others: readonly string[]) => {
  const mounts = (name: string, paths: readonly string[]) => paths.map((mountPath) => ({ name, mountPath }));
  return fakePod({ spec: { containers: [{ volumeMounts: [...mounts("w", others), ...mounts("v", own)] }] } });
};
const nested = (own: readonly string[], others: readonly string[]) =>
  nestedMountPoints(podWith(own, others), "v").sort();

test("only the outermost of nested directories is returned, for each mount of the volume", () => {
  assert.deepEqual(nested(["/a"], ["/a/b/c", "/a/b", "/a/b-c", "/a/b.c/d", "/ab", "/", "/a/b/"]), [
    "b",
    "b-c",
    "b.c/d",
  ]);
  assert.deepEqual(nested(["/a", "/a/x", "/y"], ["/a/x/1", "/a/2", "/y/3/", "/y//4"]), [
    "1",
    "2",
    "3",
    "4",
    "x",
  ]);
  assert.deepEqual(nested(["/a"], []), []);
  assert.deepEqual(nested(["/"], ["/a"]), []);
  assert.deepEqual(nested(["a/b"], ["a/b/./c", "/a/b/d"]), ["c"]);
});

test("any number of nested mounts takes linear time", () => {
  const chain = (length: number) => Array.from({ length }, (_, index) => "/a".repeat(index + 1));
  assertGrowth(1, 100, (size) => {
    const pod = podWith(
      chain(40),
      Array.from({ length: size }, (_, index) => `${"/a".repeat(40)}/${index}`),
    );
    return () => nestedMountPoints(pod, "v");
  });
  assertGrowth(1, 100, (size) => {
    const paths = Array.from({ length: size }, (_, index) => `/${index}`);
    const pod = podWith(
      paths,
      paths.map((path) => `${path}/x`),
    );
    return () => nestedMountPoints(pod, "v");
  });
});
