import assert from "node:assert/strict";
import { test } from "node:test";
import { configMap, mapsPath, testApi, widget, widgetsPath } from "./fixtures.ts";

const merge = { "content-type": "application/merge-patch+json" };
const json = { "content-type": "application/json-patch+json" };
const strategic = { "content-type": "application/strategic-merge-patch+json" };
const applied = { "content-type": "application/apply-patch+yaml" };

const patches = [
  ["merge", merge, { data: { b: "2", a: null } }, { b: "2" }],
  ["json", json, [{ op: "add", path: "/data/b", value: "2" }], { a: "1", b: "2" }],
  ["strategic merge", strategic, { data: { $patch: "replace", b: "2" } }, { b: "2" }],
] as const;
for (const [kind, headers, patch, data] of patches)
  test(`a ${kind} patch`, async (t) => {
    const { send } = await testApi(t);
    await send("POST", mapsPath, configMap("a", { a: "1" }));
    const response = await send("PATCH", `${mapsPath}/a`, patch, headers);
    assert.equal(response.status, 200);
    assert.deepEqual(response.body.data, data);
  });

const rejected = [
  ["of a missing object", "none", merge, { data: {} }, 404, 'configmaps "none" not found'],
  [
    "of an unknown type",
    "a",
    { "content-type": "application/json" },
    {},
    415,
    "the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/strategic-merge-patch+json, application/apply-patch+yaml",
  ],
  [
    "that changes the name",
    "a",
    merge,
    { metadata: { name: "b" } },
    422,
    'ConfigMap "a" is invalid: metadata.name: Invalid value: "b": field is immutable',
  ],
  [
    "of an outdated version",
    "a",
    merge,
    { metadata: { resourceVersion: "1" } },
    409,
    'Operation cannot be fulfilled on configmaps "a": the object has been modified; please apply your changes to the latest version and try again',
  ],
] as const;
for (const [rule, name, headers, patch, status, message] of rejected)
  test(`a patch is rejected: ${rule}`, async (t) => {
    const { send } = await testApi(t);
    await send("POST", mapsPath, configMap("a"));
    const response = await send("PATCH", `${mapsPath}/${name}`, patch, headers);
    assert.deepEqual([response.status, response.body.message], [status, message]);
  });

test("a patch of the status does not change the spec, and vice versa", async (t) => {
  const { send } = await testApi(t);
  await send("POST", widgetsPath, widget("w", { size: 3 }));
  const change = { spec: { size: 4 }, status: { ok: true } };
  const status = await send("PATCH", `${widgetsPath}/w/status`, change, merge);
  assert.deepEqual([status.body.spec.size, status.body.status], [3, { ok: true }]);
  const spec = await send("PATCH", `${widgetsPath}/w`, { spec: { size: 4 }, status: { ok: false } }, merge);
  assert.deepEqual([spec.body.spec.size, spec.body.status], [4, { ok: true }]);
  const managers = spec.body.metadata.managedFields.map(
    (entry: { manager: string; subresource?: string; fieldsV1: object }) => [
      entry.subresource ?? "",
      Object.keys(entry.fieldsV1),
    ],
  );
  assert.deepEqual(managers, [
    ["", ["f:spec"]],
    ["status", ["f:status"]],
  ]);
});

test("apply creates an object; applying it again changes nothing", async (t) => {
  const { send } = await testApi(t);
  const yaml = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  k: v\n";
  const path = `${mapsPath}/a?fieldManager=me`;
  const created = await send("PATCH", path, yaml, applied);
  assert.equal(created.status, 201);
  assert.deepEqual(created.body.data, { k: "v" });
  const again = await send("PATCH", path, yaml, applied);
  assert.equal(again.status, 200);
  assert.equal(again.body.metadata.resourceVersion, created.body.metadata.resourceVersion);
});

test("apply conflicts with fields of other managers, unless forced", async (t) => {
  const { send } = await testApi(t);
  const body = (value: string) =>
    `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  k: ${value}\n`;
  await send("PATCH", `${mapsPath}/a?fieldManager=me`, body("mine"), applied);
  const conflict = await send("PATCH", `${mapsPath}/a?fieldManager=you`, body("yours"), applied);
  assert.equal(conflict.status, 409);
  assert.equal(conflict.body.reason, "Conflict");
  assert.equal(conflict.body.message, 'Apply failed with 1 conflict: conflict with "me": .data.k');
  assert.deepEqual(conflict.body.details.causes, [
    { reason: "FieldManagerConflict", message: 'conflict with "me"', field: ".data.k" },
  ]);
  const forced = await send("PATCH", `${mapsPath}/a?fieldManager=you&force=true`, body("yours"), applied);
  assert.equal(forced.body.data.k, "yours");
  const unnamed = await send("PATCH", `${mapsPath}/a`, body("x"), applied);
  assert.deepEqual(
    [unnamed.status, unnamed.body.message],
    [
      422,
      'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch',
    ],
  );
  const merged = await send("PATCH", `${mapsPath}/a?force=true`, {}, merge);
  assert.match(merged.body.message, /force: Forbidden: may not be specified for non-apply patch/);
});

test("fields that the API adds have no owner; requested fields and defaults are owned by the creator", async (t) => {
  const { send } = await testApi(t);
  const owned = ({ body }: { body: { metadata: { managedFields?: { fieldsV1: object }[] } } }) =>
    body.metadata.managedFields?.map(({ fieldsV1 }) => fieldsV1);
  const labels = { a: "1" };
  const namespace = await send("POST", "/api/v1/namespaces", { metadata: { name: "n", labels } });
  assert.deepEqual(namespace.body.status, { phase: "Active" });
  assert.deepEqual(owned(namespace), [{ "f:metadata": { "f:labels": { ".": {}, "f:a": {} } } }]);
  const bare = await send("POST", "/api/v1/namespaces", { metadata: { name: "bare" } });
  assert.equal(owned(bare), undefined);
  const created = await send("POST", widgetsPath, widget("w", {}));
  assert.deepEqual(owned(created), [{ "f:spec": { "f:size": {} } }]);
});

/** Accepts `data` and the fields that all objects have. */
const fields = {
  check: (_: string, __: string, ___: string, value: unknown) => ({
    unknown: Object.keys(value as object).filter(
      (key) => !["apiVersion", "kind", "metadata", "data", "broken"].includes(key),
    ),
    problems: (value as { broken?: unknown }).broken
      ? [
          {
            path: "broken",
            message: "json: cannot unmarshal bool into Go struct field ConfigMap.broken of type string",
          },
        ]
      : [],
  }),
  duplicates: (text: string) => (text.split('"k"').length > 2 ? ["data.k"] : []),
  decode: (_: string, __: string, ___: string, value: unknown) => {
    const { apiVersion, kind, metadata, data } = value as Record<string, unknown>;
    return {
      apiVersion,
      kind,
      metadata,
      data,
    };
  },
};

test("unknown fields are rejected, warned of or ignored by fieldValidation, and never stored", async (t) => {
  const { send } = await testApi(t, { fields });
  const body = { ...configMap("a"), foo: 1 };
  const strict = await send("POST", `${mapsPath}?fieldValidation=Strict`, body);
  assert.deepEqual(
    [strict.status, strict.body.message],
    [
      400,
      'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: unknown field "foo"',
    ],
  );
  const warned = await send("POST", mapsPath, body);
  assert.equal(warned.status, 201);
  assert.equal(warned.headers.get("warning"), '299 - "unknown field \\"foo\\""');
  assert.equal(warned.body.foo, undefined);
  const ignored = await send("PUT", `${mapsPath}/a?fieldValidation=Ignore`, body);
  assert.equal(ignored.headers.get("warning"), null);
  assert.equal(ignored.status, 200);
  const patched = await send("PATCH", `${mapsPath}/a?fieldValidation=Strict`, { foo: 1 }, merge);
  assert.equal(patched.status, 422);
  assert.match(
    patched.body.message,
    /^ "" is invalid: patch: Invalid value: ".*": strict decoding error: unknown field "foo"$/,
  );
  const apply = await send("PATCH", `${mapsPath}/a?fieldManager=me`, JSON.stringify(body), applied);
  assert.equal(
    apply.body.message,
    "failed to create typed patch object (/a; /v1, Kind=ConfigMap): .foo: field not declared in schema",
  );
  const twice = await send(
    "POST",
    `${mapsPath}?fieldValidation=Strict`,
    '{"metadata":{"name":"b"},"data":{"k":"1","k":"2"}}',
  );
  assert.match(twice.body.message, /strict decoding error: duplicate field "data\.k"$/);
  const broken = await send("POST", `${mapsPath}?fieldValidation=Ignore`, {
    ...configMap("b"),
    broken: true,
  });
  assert.match(broken.body.message, /cannot be handled as a ConfigMap: json: cannot unmarshal bool into/);
});
