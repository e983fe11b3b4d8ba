import assert from "node:assert/strict";
import { test } from "node:test";
import { manifestName, podDocuments } from "./pod-documents.ts";

const pod = (metadata: string) => `apiVersion: v1\nkind: Pod\nmetadata: {${metadata}}\nspec: {}\n`;
const json = (name: string) => ({ apiVersion: "v1", kind: "Pod", metadata: { name } });

function found(text: string): string[] {
  const result = podDocuments(text);
  if ("problems" in result) assert.fail(JSON.stringify(result.problems));
  return result.documents.map((d) => `${d.namespace}/${d.name} ${d.at ?? d.linesBefore}`);
}

const good: [rule: string, text: string, pods: string[]][] = [
  ["one pod", pod("name: a"), ["default/a 0"]],
  ["a pod of another namespace", pod("name: a, namespace: shop"), ["shop/a 0"]],
  [
    "several documents, with empty ones and comments between",
    `# first\n${pod("name: a")}---\n# nothing\n---\n${pod("name: b")}---\n`,
    ["default/a 0", "default/b 7"],
  ],
  ["JSON", JSON.stringify(json("a"), undefined, 2), ["default/a 0"]],
  ["JSON with tabs", JSON.stringify(json("a"), undefined, "\t"), ["default/a 0"]],
  [
    "a PodList, whose items need no kind",
    JSON.stringify({ kind: "PodList", items: [{ metadata: { name: "a" } }, { metadata: { name: "b" } }] }),
    ["default/a items[0]", "default/b items[1]"],
  ],
  ["a List", JSON.stringify({ kind: "List", items: [json("a")] }), ["default/a items[0]"]],
];
for (const [rule, text, pods] of good) test(`finds ${rule}`, () => assert.deepEqual(found(text), pods));

test("each document keeps its text, so that line numbers are those of the file", () => {
  const text = `${pod("name: a")}---\n${pod("name: b")}# the end\n`;
  const result = podDocuments(text);
  assert.ok("documents" in result);
  assert.equal(result.documents.map((d) => d.text).join(""), text);
});

const bad: [rule: string, text: string, problems: { line?: number; message: string | RegExp }[]][] = [
  ["an empty file", "", [{ message: "contains no pod" }]],
  [
    "another kind among pods",
    `${pod("name: a")}---\nkind: Secret\n`,
    [{ line: 6, message: 'kind: "Secret", and only pods can be applied' }],
  ],
  ["no kind", "a: 1\n", [{ line: 1, message: "kind: missing, and only pods can be applied" }]],
  ["no name", pod("labels: {}"), [{ line: 1, message: "metadata.name: Required value" }]],
  ["an invalid name", pod("name: A_b"), [{ line: 1, message: /^metadata\.name: / }]],
  ["broken YAML", `${pod("name: a")}---\na: [\n`, [{ line: 7, message: /./ }]],
  [
    "a list with another kind",
    '{"kind":"List","items":[{"kind":"Secret"}]}',
    [{ message: /^items\[0\]: kind/ }],
  ],
  ["items that are not a list", '{"kind":"PodList","items":3}', [{ message: "items: is not a list" }]],
  ["nesting that is too deep", "[".repeat(50_000), [{ message: /./ }]],
];
for (const [rule, text, problems] of bad)
  test(`rejects ${rule}, with the line`, () => {
    const result = podDocuments(text);
    assert.ok("problems" in result, "no pods");
    for (const [i, { line, message }] of problems.entries()) {
      if (line !== undefined) assert.equal(result.problems[i]?.line, line);
      if (typeof message === "string") assert.equal(result.problems[i]?.message, message);
      else assert.match(result.problems[i]?.message ?? "", message);
    }
  });

test("no two pods have manifests of the same name", () => {
  const names = [
    { namespace: "default", name: "web" },
    { namespace: "default", name: "a.b" },
    { namespace: "a", name: "b" },
    { namespace: "default", name: "default.web" },
    { namespace: "a", name: "b.c" },
  ].map(manifestName);
  assert.deepEqual(names, ["web", "default.a.b", "a.b", "default.default.web", "a.b.c"]);
});
