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
      "a Secret; stringData is put in with the rest and wins",
      secret("type: Opaque\ndata:\n  a: b2xk\n  b: Yg==\nstringData:\n  a: new\n"),
      [{ key: "Secret default/s", type: "Opaque", data: { a: "bmV3", b: "Yg==" } }],
    ],
    [
      "a namespace of its own, immutable",
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
      "base64 in several lines",
      secret("data:\n  a: |\n    aGVs\n    bG8=\n"),
      [{ key: "Secret default/s", data: { a: "aGVsbG8=" } }],
    ],
  ];
  for (const [what, text, expected] of good)
    it(`takes ${what}`, () => {
      const { objects, problems } = decodeObjects(text);
      assert.deepEqual(problems, []);
      const seen = objects.map(({ kind, namespace, name, object: { metadata: _, ...content } }) => {
        return { key: `${kind} ${namespace}/${name}`, ...content };
      });
      assert.deepEqual(seen, expected);
    });

  const word = "hunter2-is-secret";
  const bad: [string, string, unknown][] = [
    ["nothing", "", { message: "holds neither a ConfigMap nor a Secret" }],
    [
      "another kind",
      "apiVersion: v1\nkind: Pod\n",
      { line: 2, field: "kind", message: 'must be "ConfigMap" or "Secret"' },
    ],
    ["another API", "kind: Secret\n", { line: 1, field: "apiVersion", message: 'must be "v1"' }],
    [
      "no name",
      "apiVersion: v1\nkind: Secret\n",
      { line: 1, field: "metadata.name", message: "is not a name" },
    ],
    [
      "a number",
      secret("stringData:\n  a: 42\n"),
      { line: 6, field: "stringData.a", message: "is not a string: put it in quotes" },
    ],
    [
      "what is not base64",
      secret(`data:\n  a: ${word}\n`),
      { line: 6, field: "data.a", message: "is not base64" },
    ],
    [
      "a bad key",
      configMap("data:\n  ..a: x\n"),
      { line: 6, field: "data...a", message: "must not start with '..'" },
    ],
    [
      "a key twice",
      secret(`stringData:\n  a: ${word}\n  a: ${word}\n`),
      { line: 6, field: "stringData.a", message: "is given more than once" },
    ],
    ["broken YAML", `a: [${word}\nb: "${word}`, { line: 1, message: "" }],
    [
      "a list for data",
      secret(`data: [${word}]\n`),
      { line: 5, field: "data", message: "is not a map of strings" },
    ],
    [
      "too much",
      configMap(`data:\n  a: ${"x".repeat(1024 * 1024 + 1)}\n`),
      { line: 1, message: "holds more than 1048576 bytes" },
    ],
    ["a bomb", `${"[".repeat(20_000)}`, { message: "" }],
  ];
  for (const [what, text, expected] of bad)
    it(`says where ${what} is, and not what stands there`, () => {
      const { objects, problems } = decodeObjects(text);
      assert.deepEqual(objects, []);
      const [problem] = problems;
      assert.ok(problem);
      const { message, ...where } = expected as { message: string };
      if (message) assert.deepEqual(problem, { ...where, message });
      assert.doesNotMatch(JSON.stringify(problems), new RegExp(word));
    });

  it("keeps the good documents of a file with a bad one", () => {
    const { objects, problems } = decodeObjects(`${configMap("")}---\nkind: Foo\n---\n${secret("")}`);
    assert.deepEqual([objects.length, problems.length], [2, 1]);
  });

  it("gives the same content the same version, and another one another", () => {
    const versions = ["data: {a: x}\n", "data: {a: x}\n", "data: {a: y}\n"].map(
      (data) => decodeObjects(configMap(data)).objects[0]?.object.metadata.resourceVersion,
    );
    assert.equal(versions[0], versions[1]);
    assert.notEqual(versions[0], versions[2]);
  });
});
