import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { decodeObjects } from "./decode-objects.ts";

const configMap = (more: string) => `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\n${more}`;
const secret = (more: string) => `apiVersion: v1\nkind: Secret\nmetadata:\n  name: s\n${more}`;

describe("local objects in a file", () => {
  const good: [string, string, unknown[]][] = [
    [
      "a ConfigMap with text and bytes, in the namespace default",
      configMap("data:\n  a: text\nbinaryData:\n  b: AAE=\n"),
      [{ key: "ConfigMap default/c", data: { a: "text" }, binaryData: { b: "AAE=" } }],
    ],
    [
      "a Secret; stringData is merged into data and takes precedence",
      secret("type: Opaque\ndata:\n  a: b2xk\n  b: Yg==\nstringData:\n  a: new\n"),
      [{ key: "Secret default/s", type: "Opaque", data: { a: "bmV3", b: "Yg==" } }],
    ],
    [
      "another namespace, immutable",
      "apiVersion: v1\nkind: ConfigMap\nimmutable: true\nmetadata: {name: c, namespace: shop}\n",
      [{ key: "ConfigMap shop/c", immutable: true }],
    ],
    [
      "several documents",
      `${configMap("data: {a: x}\n")}---\n${secret("")}`,
      [
        { key: "ConfigMap default/c", data: { a: "x" } },
        { key: "Secret default/s", data: {} },
      ],
    ],
    [
      "a List",
      JSON.stringify({
        apiVersion: "v1",
        kind: "List",
        items: [{ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "c" } }],
      }),
      [{ key: "ConfigMap default/c" }],
    ],
    [
      "JSON with tabs",
      '{\n\t"apiVersion": "v1",\n\t"kind": "ConfigMap",\n\t"metadata": {"name": "c"}\n}',
      [{ key: "ConfigMap default/c" }],
    ],
    [
      "base64 on several lines",
      secret("data:\n  a: |\n    aGVs\n    bG8=\n"),
      [{ key: "Secret default/s", data: { a: "aGVsbG8=" } }],
    ],
  ];
  for (const [what, text, expected] of good)
    it(`decodes ${what}`, () => {
      const { objects, problems } = decodeObjects(text);
      assert.deepEqual(problems, []);
      const actual = objects.map(({ kind, namespace, name, object: { metadata: _, ...content } }) => {
        return { key: `${kind} ${namespace}/${name}`, ...content };
      });
      assert.deepEqual(actual, expected);
    });

  const value = "hunter2-is-secret";
  const bad: [string, string, unknown][] = [
    ["an empty file", "", { message: "contains neither a ConfigMap nor a Secret" }],
    [
      "another kind",
      "apiVersion: v1\nkind: Pod\n",
      { line: 2, field: "kind", message: 'must be "ConfigMap" or "Secret"' },
    ],
    ["another API version", "kind: Secret\n", { line: 1, field: "apiVersion", message: 'must be "v1"' }],
    [
      "no name",
      "apiVersion: v1\nkind: Secret\n",
      { line: 1, field: "metadata.name", message: "is not a valid name" },
    ],
    [
      "a number",
      secret("stringData:\n  a: 42\n"),
      { line: 6, field: "stringData.a", message: "is not a string: put it in quotes" },
    ],
    [
      "a value that is not base64",
      secret(`data:\n  a: ${value}\n`),
      { line: 6, field: "data.a", message: "is not base64" },
    ],
    [
      "a bad key",
      configMap("data:\n  ..a: x\n"),
      { line: 6, field: "data...a", message: "must not start with '..'" },
    ],
    [
      "a duplicate key",
      secret(`stringData:\n  a: ${value}\n  a: ${value}\n`),
      { line: 6, field: "stringData.a", message: "is specified more than once" },
    ],
    ["broken YAML", `a: [${value}\nb: "${value}`, { line: 1, message: "" }],
    [
      "a list for data",
      secret(`data: [${value}]\n`),
      { line: 5, field: "data", message: "is not a map of strings" },
    ],
    [
      "an object that is too large",
      configMap(`data:\n  a: ${"x".repeat(1024 * 1024 + 1)}\n`),
      { line: 1, message: "is larger than 1048576 bytes" },
    ],
    ["deep nesting", `${"[".repeat(20_000)}`, { message: "" }],
  ];
  for (const [what, text, expected] of bad)
    it(`reports the location of ${what}, but not the value`, () => {
      const { objects, problems } = decodeObjects(text);
      assert.deepEqual(objects, []);
      const [problem] = problems;
      assert.ok(problem);
      const { message, ...where } = expected as { message: string };
      if (message) assert.deepEqual(problem, { ...where, message });
      assert.doesNotMatch(JSON.stringify(problems), new RegExp(value));
    });

  it("keeps the valid documents of a file with an invalid one", () => {
    const { objects, problems } = decodeObjects(`${configMap("")}---\nkind: Foo\n---\n${secret("")}`);
    assert.deepEqual([objects.length, problems.length], [2, 1]);
  });

  it("the version depends on the content only", () => {
    const versions = ["data: {a: x}\n", "data: {a: x}\n", "data: {a: y}\n"].map(
      (data) => decodeObjects(configMap(data)).objects[0]?.object.metadata.resourceVersion,
    );
    assert.equal(versions[0], versions[1]);
    assert.notEqual(versions[0], versions[2]);
  });
});
