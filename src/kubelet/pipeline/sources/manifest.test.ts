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
