import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { parseDocument } from "../../../src/kubelet/pipeline/sources/document.ts";
import { decodeManifestOrList } from "../../../src/kubelet/pipeline/sources/manifest.ts";
import type { StaticPodOptions } from "../../../src/lib/model/static-pod.ts";
import { assertSize, jsonOf } from "../rules.ts";
import type { FuzzTarget } from "../target.ts";

const fixture = (name: string) => readFileSync(new URL(`../../fixtures/manifests/${name}`, import.meta.url));
const options: StaticPodOptions = {
  nodeName: "node-a",
  origin: { source: "file", path: "/m/a.yaml" },
  allowApiReferences: true,
};

/** Pods of manifest files and URLs, in YAML and JSON. */
export default {
  seeds: [
    fixture("web.yaml"),
    fixture("full.yaml"),
    '{"apiVersion":"v1","kind":"PodList","items":[{"metadata":{"name":"a"},"spec":{"containers":[{"name":"a","image":"b"}]}}]}',
    "a: &a [1, 2]\nb: [*a, *a]\n<<: {c: d}\n",
    "# c\n---\nkind: Pod\n...\n",
  ],
  dictionary: [
    "&a ",
    "*a",
    "<<: ",
    "? ",
    "!!str ",
    "|\n  ",
    ">-\n  ",
    "\n---\n",
    "%YAML 1.1\n",
    "__proto__",
    "\t",
    "- ",
  ],
  maxLength: 1024,
  run(input) {
    const parsed = parseDocument(input);
    if ("value" in parsed) {
      assertSize(parsed.value, 100_000 + 200 * input.length, "the document");
      // JSON.parse keeps the last of several equal keys, which a manifest must not have.
      const json = jsonOf(input.toString("utf8"));
      if (json !== undefined) assert.deepEqual(parsed.value, json);
    }
    const manifest = decodeManifestOrList(input, options);
    assertSize(manifest, 200_000 + 1000 * input.length, "the result");
    if ("problems" in manifest) return void assert.ok(manifest.problems.length > 0);
    for (const pod of manifest.pods) {
      assert.match(pod.metadata.name, /-node-a$/);
      assert.equal(pod.spec.nodeName, "node-a");
    }
    // The same pods again, from the same bytes.
    assert.deepEqual(decodeManifestOrList(Buffer.from(input), options), manifest);
  },
} satisfies FuzzTarget;
