import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { assertGrowth } from "../../../test/growth.ts";
import { testKinds, updateErrors, validationErrors } from "./fixtures.ts";
import { nameIsLabel, nameIsPathSegment, nameIsSubdomain } from "./names.ts";

const label =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const subdomain =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

describe("names", () => {
  const cases: [string, readonly string[], readonly string[]][] = [
    ["a label", nameIsLabel("my-name", false), []],
    ["a label with a dot", nameIsLabel("a.b", false), ["must not contain dots"]],
    ["a name that ends with a dash", nameIsSubdomain("a-", false), [subdomain]],
    ["a prefix that ends with a dash", nameIsSubdomain("a-", true), []],
    ["a prefix with another character before the dash", nameIsSubdomain("_-", true), []],
    ["a prefix with two dashes", nameIsLabel("a--", true), []],
    ["a prefix that is a dash", nameIsLabel("-", true), [label]],
    ["a path segment", nameIsPathSegment("A:b", false), []],
    [
      "a path segment with a slash",
      nameIsPathSegment("a/b%", false),
      ["may not contain '/'", "may not contain '%'"],
    ],
    ["dots as a path segment", nameIsPathSegment("..", false), ["may not be '..'"]],
    ["dots as the prefix of a path segment", nameIsPathSegment("..", true), []],
  ];
  for (const [rule, found, expected] of cases) test(rule, () => assert.deepEqual(found, expected));
});

describe("metadata", () => {
  const owner = { apiVersion: "v1", kind: "Pod", name: "p", uid: "u" };
  const cases: [string, object, string[]][] = [
    ["is fine", { labels: { a: "b" }, annotations: { "X.io/y": "z" }, finalizers: ["x.io/y"] }, []],
    ["needs a name", { name: "" }, ["metadata.name: Required value: name or generateName is required"]],
    ["needs a namespace", { namespace: "" }, ["metadata.namespace: Required value"]],
    ["checks names", { name: "A" }, [`metadata.name: Invalid value: "A": ${subdomain}`]],
    [
      "checks values of labels",
      { labels: { a: "b c" } },
      [
        `metadata.labels: Invalid value: "b c": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`,
      ],
    ],
    [
      "bounds annotations",
      { annotations: { a: "x".repeat(256 * 1024) } },
      ["metadata.annotations: Too long: may not be more than 262144 bytes"],
    ],
    [
      "checks finalizers",
      { finalizers: ["mine"] },
      [
        'metadata.finalizers[0]: Invalid value: "mine": name is neither a standard finalizer name nor is it fully qualified',
      ],
    ],
    [
      "has either the orphan or the foregroundDeletion finalizer",
      { finalizers: ["orphan", "foregroundDeletion"] },
      [
        'metadata.finalizers: Invalid value: ["orphan","foregroundDeletion"]: finalizer orphan and foregroundDeletion cannot be both set',
      ],
    ],
    [
      "has one controller",
      {
        ownerReferences: [
          { ...owner, controller: true },
          { ...owner, name: "q", controller: true },
        ],
      },
      [
        `metadata.ownerReferences: Invalid value: ${JSON.stringify([
          { ...owner, controller: true },
          { ...owner, name: "q", controller: true },
        ])}: Only one reference can have Controller set to true. Found "true" in references for Pod/p and Pod/q`,
      ],
    ],
    [
      "needs complete owner references",
      { ownerReferences: [{ ...owner, uid: "" }] },
      ['metadata.ownerReferences.uid: Invalid value: "": must not be empty'],
    ],
  ];
  for (const [rule, metadata, expected] of cases)
    test(rule, async () => assert.deepEqual(await validationErrors("configmaps", { metadata }), expected));

  test("has no namespace if the kind is cluster-scoped", async () =>
    assert.deepEqual(await validationErrors("namespaces", { metadata: { namespace: "default" } }), [
      "metadata.namespace: Forbidden: not allowed on this type",
    ]));

  test("gets no new finalizers while it is being deleted", async () =>
    assert.deepEqual(
      await updateErrors(
        "configmaps",
        { metadata: { deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: ["x.io/a"] } },
        { metadata: { deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: ["x.io/a", "x.io/b"] } },
      ),
      [
        'metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"x.io/b"}',
      ],
    ));

  test("keeps its uid", async () =>
    assert.deepEqual(await updateErrors("configmaps", {}, { metadata: { uid: "other" } }), [
      'metadata.uid: Invalid value: "other": field is immutable',
    ]));
});

describe("the time to validate a list is proportional to its length", () => {
  const numbered = (size: number, item: (i: number) => object | string) =>
    Array.from({ length: size }, (_, i) => item(i));
  const controller = { kind: "Pod", name: "p", uid: "u", controller: true };
  const rows: [rule: string, kind: string, fields: (size: number) => { metadata?: object; spec?: object }][] =
    [
      [
        "owners that are all controllers",
        "ConfigMap",
        (size) => ({ metadata: { ownerReferences: numbered(size, () => controller) } }),
      ],
      [
        "finalizers during deletion",
        "ConfigMap",
        (size) => ({
          metadata: {
            deletionTimestamp: "2026-01-01T00:00:00Z",
            finalizers: numbered(size, (i) => `x.io/${i}`),
          },
        }),
      ],
      [
        "tolerations",
        "Pod",
        (size) => ({ spec: { tolerations: numbered(size, (i) => ({ key: `k${i}` })) } }),
      ],
      [
        "topology spread constraints",
        "Pod",
        (size) => ({
          spec: { topologySpreadConstraints: numbered(size, (i) => ({ topologyKey: `k${i}` })) },
        }),
      ],
    ];
  const { objects, definitions } = testKinds();
  for (const [rule, kind, fields] of rows)
    test(rule, () =>
      assertGrowth(1, 20, (size) => {
        const { metadata, spec } = fields(size);
        const draft = {
          metadata: { name: "a", namespace: "b", uid: "u", ...metadata },
          spec: { containers: [], ...spec },
        };
        const definition = definitions.find((one) => one.kind === kind);
        return () => definition?.validateUpdate?.(draft, draft, objects.context());
      }),
    );
});
