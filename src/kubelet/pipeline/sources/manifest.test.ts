import assert from "node:assert/strict";
import { test } from "node:test";
import type { ManifestOrigin } from "../../../lib/model/static-pod.ts";
import { decodeManifestOrList } from "./manifest.ts";

const pod = (name: string) =>
  `apiVersion: v1\nkind: Pod\nmetadata: {name: ${name}}\nspec:\n  containers: [{name: c, image: i}]\n`;

for (const [origin, isRead] of [
  [{ source: "file", path: "/m/two.yaml" }, true],
  [{ source: "http", url: "http://192.0.2.1/two" }, true],
  [{ source: "applied", name: "two" }, false],
] as [ManifestOrigin, boolean][])
  test(`a second document is ${isRead ? "ignored, with a warning" : "rejected"}: ${origin.source}`, () => {
    const bytes = Buffer.from(`${pod("a")}---\n${pod("b")}`);
    const manifest = decodeManifestOrList(bytes, { nodeName: "node-1", hasLocalObjects: false, origin });
    const problems = "problems" in manifest ? manifest.problems : manifest.warnings;
    const names = "pods" in manifest ? manifest.pods.map(({ metadata }) => metadata.name) : [];
    assert.deepEqual(names, isRead ? ["a-node-1"] : []);
    assert.match(problems[0]?.message ?? "", /second document/);
    assert.equal(problems[0]?.line, 7);
  });

test("of thousands of unknown fields 100 are listed, the others counted", () => {
  const unknown = (from: number) =>
    Object.fromEntries(Array.from({ length: 3000 }, (_, i) => [`x${from + i}`, 1]));
  const item = (name: string, from: number) => ({
    metadata: { name },
    spec: { containers: [{ name: "c", image: "i" }], ...unknown(from) },
  });
  const list = { apiVersion: "v1", kind: "PodList", items: [item("a", 0), item("b", 3000)] };
  const manifest = decodeManifestOrList(Buffer.from(JSON.stringify(list)), {
    nodeName: "node-1",
    hasLocalObjects: false,
    origin: { source: "file", path: "/m/many.json" },
  });
  assert.ok("pods" in manifest);
  assert.equal(manifest.pods.length, 2);
  assert.equal(manifest.warnings.length, 101);
  assert.equal(manifest.warnings.at(-1)?.message, "5900 further unknown fields, ignored");
});

test("a list with millions of invalid pods is rejected at once, with the first problems", () => {
  const items = new Array(2_000_000).fill(null);
  const bytes = Buffer.from(JSON.stringify({ apiVersion: "v1", kind: "PodList", items }));
  const origin = { source: "http", url: "http://a.test/" } as const;
  const manifest = decodeManifestOrList(bytes, { nodeName: "node-1", hasLocalObjects: false, origin });
  assert.ok("problems" in manifest);
  assert.equal(manifest.problems.length, 101);
  assert.equal(manifest.problems.at(-1)?.message, "too many problems: 1999900 further pods were not checked");
});
