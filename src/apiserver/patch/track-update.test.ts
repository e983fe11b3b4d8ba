import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { assertGrowth } from "../../../test/growth.ts";
import { isObject, type Json, type JsonObject } from "./json-value.ts";
import { schemaFor } from "./schema.ts";
import { trackUpdate } from "./track-update.ts";

const schema = schemaFor("v1", "Pod");
const now = Date.parse("2026-01-02T03:04:05.678Z");
const options = { schema, manager: "kubectl-run", now };

function managers(object: JsonObject): JsonObject[] {
  return (isObject(object.metadata) ? (object.metadata.managedFields as JsonObject[]) : undefined) ?? [];
}

const created: JsonObject = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "nginx", namespace: "default", uid: "u1", labels: { run: "nginx" } },
  spec: {
    containers: [
      { name: "nginx", image: "nginx", ports: [{ containerPort: 80, protocol: "TCP" }], resources: {} },
    ],
    securityContext: {},
    restartPolicy: "Always",
  },
  status: { phase: "Pending" },
};

test("the creator owns the fields that it set, in the FieldsV1 format", () => {
  const [entry, ...more] = managers(trackUpdate(undefined, created, { ...options, ignored: [["status"]] }));
  assert.deepEqual(more, []);
  assert.deepEqual(entry, {
    apiVersion: "v1",
    fieldsType: "FieldsV1",
    fieldsV1: {
      "f:metadata": { "f:labels": { ".": {}, "f:run": {} } },
      "f:spec": {
        "f:containers": {
          'k:{"name":"nginx"}': {
            ".": {},
            "f:image": {},
            "f:name": {},
            "f:ports": {
              ".": {},
              'k:{"containerPort":80,"protocol":"TCP"}': { ".": {}, "f:containerPort": {}, "f:protocol": {} },
            },
            "f:resources": {},
          },
        },
        "f:restartPolicy": {},
        "f:securityContext": {},
      },
    },
    manager: "kubectl-run",
    operation: "Update",
    time: "2026-01-02T03:04:05Z",
  });
});

test("a status update through the subresource is an entry of its own", () => {
  const before = trackUpdate(undefined, created, options);
  const after = { ...before, status: { phase: "Running", podIPs: [{ ip: "10.0.0.1" }] } };
  const entries = managers(
    trackUpdate(before, after, { schema, manager: "kubelet", subresource: "status", now: now + 1000 }),
  );
  assert.deepEqual(
    entries.map(({ manager, subresource }) => [manager, subresource]),
    [
      ["kubectl-run", undefined],
      ["kubelet", "status"],
    ],
  );
  assert.deepEqual(entries[1]!.fieldsV1, {
    "f:status": { "f:phase": {}, "f:podIPs": { ".": {}, 'k:{"ip":"10.0.0.1"}': { ".": {}, "f:ip": {} } } },
  });
  assert.equal(JSON.stringify(entries[0]!.fieldsV1).includes("f:phase"), false, "the kubelet owns the phase");
});

const labeled = (labels: JsonObject): JsonObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "c", uid: "u", labels },
});
const configMap = schemaFor("v1", "ConfigMap");
const by = (manager: string, at = now) => ({ schema: configMap, manager, now: at });

describe("field ownership after an update", () => {
  const before = trackUpdate(undefined, labeled({ a: "1", b: "1" }), by("one"));
  const change = (labels: JsonObject) =>
    Object.fromEntries(
      managers(trackUpdate(before, labeled(labels), by("two", now + 5000))).map((entry) => [
        entry.manager as string,
        entry.fieldsV1!,
      ]),
    );
  const of = (fields: JsonObject): JsonObject => ({ "f:metadata": { "f:labels": fields } });
  const table: [string, JsonObject, Record<string, Json>][] = [
    [
      "a changed field belongs to the manager that changed it",
      { a: "2", b: "1" },
      { one: of({ ".": {}, "f:b": {} }), two: of({ "f:a": {} }) },
    ],
    [
      "an added field belongs to the manager that added it",
      { a: "1", b: "1", c: "1" },
      { one: of({ ".": {}, "f:a": {}, "f:b": {} }), two: of({ "f:c": {} }) },
    ],
    ["removed fields have no owner", { a: "1" }, { one: of({ ".": {}, "f:a": {} }) }],
    [
      "an update that changes nothing adds no entry",
      { a: "1", b: "1" },
      { one: of({ ".": {}, "f:a": {}, "f:b": {} }) },
    ],
  ];
  for (const [rule, labels, expected] of table) test(rule, () => assert.deepEqual(change(labels), expected));
});

test("the same manager has one entry, and the time of its last change", () => {
  const before = trackUpdate(undefined, labeled({ a: "1" }), by("one"));
  const entries = managers(trackUpdate(before, labeled({ a: "1", b: "1" }), by("one", now + 60_000)));
  assert.deepEqual(
    entries.map(({ time }) => time),
    ["2026-01-02T03:05:05Z"],
  );
  assert.deepEqual(entries[0]!.fieldsV1, { "f:metadata": { "f:labels": { ".": {}, "f:a": {}, "f:b": {} } } });
});

describe("managedFields in a request", () => {
  const before = trackUpdate(undefined, labeled({ a: "1" }), by("one"));
  const sent = (managedFields: Json): JsonObject => ({
    ...before,
    metadata: { ...(before.metadata as JsonObject), managedFields },
  });
  test("an empty list clears managedFields", () =>
    assert.deepEqual(managers(trackUpdate(before, sent([]), by("x"))), []));
  test("a single empty entry clears managedFields", () =>
    assert.deepEqual(managers(trackUpdate(before, sent([{}]), by("x"))), []));
  test("invalid managedFields are ignored", () =>
    assert.deepEqual(managers(trackUpdate(before, sent([{ operation: "x" }]), by("x"))), managers(before)));
  test("a request to a subresource cannot change managedFields", () =>
    assert.deepEqual(
      managers(trackUpdate(before, sent([]), { ...by("x"), subresource: "status" })),
      managers(before),
    ));
});

test("an object without managedFields gets none by an update", () => {
  assert.deepEqual(managers(trackUpdate(labeled({ a: "1" }), labeled({ a: "2" }), by("x"))), []);
});

test("if there are more than ten updaters, the oldest are merged into one entry", () => {
  let object = trackUpdate(undefined, labeled({ l0: "1" }), by("m0"));
  for (let i = 1; i < 15; i++) {
    const labels = { ...((object.metadata as JsonObject).labels as JsonObject), [`l${i}`]: "1" };
    const after = { ...object, metadata: { ...(object.metadata as JsonObject), labels } };
    object = trackUpdate(object, after, by(`m${i}`, now + i * 1000));
  }
  const names = managers(object).map(({ manager }) => manager);
  assert.deepEqual(names, ["ancient-changes", ...[6, 7, 8, 9, 10, 11, 12, 13, 14].map((i) => `m${i}`)]);
  const text = JSON.stringify(managers(object)[0]!.fieldsV1);
  for (const label of ["l0", "l1", "l5"]) assert.ok(text.includes(`f:${label}`), label);
});

test("the oldest of any number of updaters are merged in linear time", () =>
  assertGrowth(1, 2000, (size) => {
    const managedFields = Array.from({ length: size }, (_, i) => ({
      manager: `m${i}`,
      operation: "Update",
      apiVersion: "v1",
      fieldsV1: { "f:metadata": { "f:labels": { [`f:l${i}`]: {} } } },
    }));
    const object = { ...created, metadata: { ...(created.metadata as JsonObject), managedFields } };
    return () => assert.equal(managers(trackUpdate(undefined, object, options)).length, 10);
  }));
