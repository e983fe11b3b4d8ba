import assert from "node:assert/strict";
import { test } from "node:test";
import { configMap, mapsPath, testApi, widget, widgetsPath } from "./fixtures.ts";

test("the server sets its own fields in a new object and ignores those of the client", async (t) => {
  const { send } = await testApi(t);
  const sent = configMap(
    "a",
    { k: "v" },
    { uid: "mine", creationTimestamp: "2001-01-01T00:00:00Z", selfLink: "/x" },
  );
  const { status, body } = await send("POST", mapsPath, sent);
  assert.equal(status, 201);
  assert.equal(body.apiVersion, "v1");
  assert.equal(body.kind, "ConfigMap");
  assert.equal(body.metadata.namespace, "default");
  assert.match(body.metadata.uid, /^[0-9a-f-]{36}$/);
  assert.notEqual(body.metadata.creationTimestamp, "2001-01-01T00:00:00Z");
  assert.equal(body.metadata.selfLink, undefined);
  assert.equal(body.metadata.generation, undefined);
  assert.match(body.metadata.resourceVersion, /^\d+$/);
  assert.deepEqual((await send("GET", `${mapsPath}/a`)).body, body);
});

test("generateName adds five random characters, and is retried when the name exists", async (t) => {
  const { send } = await testApi(t);
  const body = { metadata: { generateName: "run-" } };
  const names = await Promise.all(
    Array.from({ length: 20 }, async () => (await send("POST", mapsPath, body)).body.metadata.name),
  );
  for (const name of names) assert.match(name, /^run-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
  assert.equal(new Set(names).size, 20);
});

const rejections: {
  rule: string;
  method?: string;
  path?: string;
  body: unknown;
  headers?: Record<string, string>;
  status: number;
  reason: string;
  message: string;
}[] = [
  {
    rule: "no name",
    body: { metadata: {} },
    status: 422,
    reason: "Invalid",
    message: 'ConfigMap "" is invalid: metadata.name: Required value: name or generateName is required',
  },
  {
    rule: "a name that is not a valid path segment",
    body: configMap("a/b"),
    status: 422,
    reason: "Invalid",
    message: `ConfigMap "a/b" is invalid: metadata.name: Invalid value: "a/b": may not contain '/'`,
  },
  {
    rule: "a missing namespace",
    path: "/api/v1/namespaces/nowhere/configmaps",
    body: configMap("a"),
    status: 404,
    reason: "NotFound",
    message: 'namespaces "nowhere" not found',
  },
  {
    rule: "another namespace in the object",
    body: configMap("a", {}, { namespace: "other" }),
    status: 400,
    reason: "BadRequest",
    message: "the namespace of the provided object does not match the namespace sent on the request",
  },
  {
    rule: "another API version",
    body: { apiVersion: "v2", kind: "ConfigMap", metadata: { name: "a" } },
    status: 400,
    reason: "BadRequest",
    message: "the API version in the data (v2) does not match the expected API version (v1)",
  },
  {
    rule: "another kind",
    body: { apiVersion: "v1", kind: "Pod", metadata: { name: "a" } },
    status: 400,
    reason: "BadRequest",
    message: 'Pod in version "v1" cannot be handled as a ConfigMap: the kinds do not match',
  },
  {
    rule: "a body that is not JSON",
    body: "{",
    status: 400,
    reason: "BadRequest",
    message:
      "couldn't get version/kind; json parse error: Expected property name or '}' in JSON at position 1 (line 1 column 2)",
  },
  {
    rule: "a body of an unknown type",
    body: "a,b",
    headers: { "content-type": "text/csv" },
    status: 415,
    reason: "UnsupportedMediaType",
    message:
      "the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, application/vnd.kubernetes.protobuf",
  },
  {
    rule: "an object that fails validation",
    body: configMap("a", { forbidden: "x" }),
    status: 422,
    reason: "Invalid",
    message: 'ConfigMap "a" is invalid: data[forbidden]: Invalid value: "forbidden": not this one',
  },
  {
    rule: "an unknown method",
    method: "PUT",
    body: configMap("a"),
    status: 405,
    reason: "MethodNotAllowed",
    message: "the server does not allow this method on the requested resource",
  },
  {
    rule: "an unknown resource",
    path: "/api/v1/namespaces/default/gadgets",
    body: configMap("a"),
    status: 404,
    reason: "NotFound",
    message: "the server could not find the requested resource",
  },
  {
    rule: "a cluster-scoped resource below a namespace",
    method: "GET",
    path: "/api/v1/namespaces/default/namespaces/default",
    body: undefined,
    status: 404,
    reason: "NotFound",
    message: "the server could not find the requested resource",
  },
];

for (const { rule, method = "POST", path = mapsPath, body, headers, ...expected } of rejections)
  test(`rejected with a Status: ${rule}`, async (t) => {
    const { send } = await testApi(t);
    const response = await send(method, path, body, headers);
    assert.equal(response.status, expected.status);
    const { kind, status, reason, message, code } = response.body;
    assert.deepEqual(
      { kind, status, reason, message, code },
      {
        kind: "Status",
        status: "Failure",
        code: expected.status,
        reason: expected.reason,
        message: expected.message,
      },
    );
  });

test("validation errors of an object are also reported as causes", async (t) => {
  const { send } = await testApi(t);
  const { body } = await send("POST", widgetsPath, widget("", { size: 101 }));
  assert.equal(
    body.message,
    'Widget.things.example "" is invalid: [spec.size: Invalid value: 101: too big, metadata.name: Required value: name or generateName is required]',
  );
  assert.deepEqual(body.details, {
    group: "things.example",
    kind: "Widget",
    causes: [
      { reason: "FieldValueInvalid", message: "Invalid value: 101: too big", field: "spec.size" },
      {
        reason: "FieldValueRequired",
        message: "Required value: name or generateName is required",
        field: "metadata.name",
      },
    ],
  });
});

test("the details of a missing object name it", async (t) => {
  const { send } = await testApi(t);
  const { status, body } = await send("GET", `${widgetsPath}/w`);
  assert.equal(status, 404);
  assert.equal(body.message, 'widgets.things.example "w" not found');
  assert.deepEqual(body.details, { name: "w", group: "things.example", kind: "widgets" });
});

test("creating an existing object fails and does not change it", async (t) => {
  const { send } = await testApi(t);
  await send("POST", mapsPath, configMap("a", { k: "1" }));
  const again = await send("POST", mapsPath, configMap("a", { k: "2" }));
  assert.equal(again.status, 409);
  assert.equal(again.body.reason, "AlreadyExists");
  assert.equal(again.body.message, 'configmaps "a" already exists');
  assert.equal((await send("GET", `${mapsPath}/a`)).body.data.k, "1");
});

test("an update of an old version is a conflict, one without a version is not", async (t) => {
  const { send } = await testApi(t);
  const first = (await send("POST", mapsPath, configMap("a", { k: "1" }))).body;
  const second = await send("PUT", `${mapsPath}/a`, { ...first, data: { k: "2" } });
  assert.equal(second.status, 200);
  const late = await send("PUT", `${mapsPath}/a`, { ...first, data: { k: "3" } });
  assert.equal(late.status, 409);
  assert.equal(
    late.body.message,
    'Operation cannot be fulfilled on configmaps "a": the object has been modified; please apply your changes to the latest version and try again',
  );
  const plain = await send("PUT", `${mapsPath}/a`, configMap("a", { k: "4" }));
  assert.equal(plain.status, 200);
  assert.equal(plain.body.metadata.uid, first.metadata.uid);
  assert.equal(plain.body.metadata.creationTimestamp, first.metadata.creationTimestamp);
});

const putRejections = [
  [configMap("b"), "the name of the object (b) does not match the name on the URL (a)"],
  [{ metadata: {} }, "the name of the object (a based on URL) was undeterminable: name must be provided"],
  [
    configMap("a", {}, { namespace: "x" }),
    "the namespace of the object (x) does not match the namespace on the request (default)",
  ],
] as const;
for (const [body, message] of putRejections)
  test(`an update must have the name and namespace of its path: ${message}`, async (t) => {
    const { send } = await testApi(t);
    await send("POST", mapsPath, configMap("a"));
    const response = await send("PUT", `${mapsPath}/a`, body);
    assert.deepEqual([response.status, response.body.message], [400, message]);
  });

test("an update with the uid of another object is a conflict", async (t) => {
  const { send } = await testApi(t);
  const { body } = await send("POST", mapsPath, configMap("a"));
  const response = await send("PUT", `${mapsPath}/a`, configMap("a", {}, { uid: "other" }));
  assert.equal(response.status, 409);
  assert.equal(
    response.body.message,
    `Operation cannot be fulfilled on configmaps "a": Precondition failed: UID in precondition: other, UID in object meta: ${body.metadata.uid}`,
  );
});

test("PUT creates a missing object only for kinds that allow it", async (t) => {
  const { send } = await testApi(t);
  assert.equal((await send("PUT", `${mapsPath}/a`, configMap("a"))).status, 404);
  const created = await send("PUT", `${widgetsPath}/w`, widget("w"));
  assert.equal(created.status, 201);
  assert.equal((await send("PUT", `${widgetsPath}/w`, widget("w"))).status, 200);
});

test("generation counts changes of the spec, not of metadata or status", async (t) => {
  const { send } = await testApi(t);
  const generation = async (method: string, path: string, body: object) =>
    (await send(method, path, body)).body.metadata.generation;
  assert.equal(await generation("POST", widgetsPath, widget("w", {}, { generation: 7 })), 1);
  const path = `${widgetsPath}/w`;
  assert.equal(await generation("PUT", path, widget("w", {}, { labels: { a: "b" } })), 1);
  assert.equal(await generation("PUT", path, widget("w", { size: 2 })), 2);
  assert.equal(
    await generation("PUT", `${path}/status`, { ...widget("w", { size: 9 }), status: { ok: true } }),
    2,
  );
  const { body } = await send("GET", path);
  assert.deepEqual([body.spec.size, body.status.ok], [2, true]);
  assert.equal(
    (await send("PUT", path, { ...widget("w", { size: 2 }), status: { ok: false } })).body.status.ok,
    true,
  );
});

test("a write that changes nothing gets no new version", async (t) => {
  const { send } = await testApi(t);
  const { body } = await send("POST", mapsPath, configMap("a", { k: "v" }));
  const same = await send("PUT", `${mapsPath}/a`, configMap("a", { k: "v" }, { managedFields: undefined }));
  assert.equal(same.body.metadata.resourceVersion, body.metadata.resourceVersion);
});

test("a dry run returns the result and stores nothing", async (t) => {
  const { send, store } = await testApi(t);
  const version = store.currentVersion;
  const created = await send("POST", `${mapsPath}?dryRun=All`, configMap("a"));
  assert.equal(created.status, 201);
  assert.ok(created.body.metadata.uid);
  assert.equal(created.body.metadata.resourceVersion, undefined);
  assert.equal(store.currentVersion, version);
  await send("POST", mapsPath, configMap("a", { k: "1" }));
  assert.equal((await send("POST", `${mapsPath}?dryRun=All`, configMap("a"))).status, 409);
  const put = await send("PUT", `${mapsPath}/a?dryRun=All`, configMap("a", { k: "2" }));
  assert.equal(put.body.data.k, "2");
  assert.equal((await send("DELETE", `${mapsPath}/a?dryRun=All`)).status, 200);
  assert.equal((await send("GET", `${mapsPath}/a`)).body.data.k, "1");
  const bad = await send("POST", `${mapsPath}?dryRun=Some`, configMap("b"));
  assert.match(
    bad.body.message,
    /^CreateOptions\.meta\.k8s\.io "" is invalid: dryRun: Unsupported value: \["Some"\]/,
  );
});

test("requests and responses can be YAML", async (t) => {
  const { send } = await testApi(t);
  const yaml = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  k: v\n";
  const created = await send("POST", mapsPath, yaml, { "content-type": "application/yaml" });
  assert.equal(created.status, 201);
  const got = await send("GET", `${mapsPath}/a`, undefined, { accept: "application/yaml" });
  assert.match(got.text, /^apiVersion: v1\nkind: ConfigMap\n/);
  assert.equal(got.headers.get("content-type"), "application/yaml");
});

test("a protobuf request can have a JSON response", async (t) => {
  const { url } = await testApi(t);
  // Recorded from `kubectl create configmap a --from-literal=k=v`.
  const sent = "azhzAAoPCgJ2MRIJQ29uZmlnTWFwEhsKEQoBYRIAGgAiACoAMgA4AEIAEgYKAWsSAXYaACIA";
  const type = "application/vnd.kubernetes.protobuf";
  const response = await fetch(url + mapsPath, {
    method: "POST",
    body: Buffer.from(sent, "base64"),
    headers: { "content-type": type, accept: `${type},application/json` },
  });
  assert.deepEqual([response.status, response.headers.get("content-type")], [201, "application/json"]);
  assert.deepEqual(((await response.json()) as { data: object }).data, { k: "v" });
});

test("a body that is too large is rejected", async (t) => {
  const { send } = await testApi(t, { maxBodyBytes: 1000 });
  const response = await send("POST", mapsPath, configMap("a", { k: "x".repeat(1000) }));
  assert.deepEqual(
    [response.status, response.body.message],
    [413, "Request entity too large: limit is 1000"],
  );
});

test("large responses are compressed for clients that accept gzip", async (t) => {
  const { send, url } = await testApi(t);
  await send("POST", mapsPath, configMap("a", { k: "x".repeat(200_000) }));
  const plain = await fetch(`${url}${mapsPath}/a`, { headers: { "accept-encoding": "identity" } });
  assert.equal(plain.headers.get("content-encoding"), null);
  assert.equal(((await plain.json()) as { data: { k: string } }).data.k.length, 200_000);
  const packed = await fetch(`${url}${mapsPath}/a`, { headers: { "accept-encoding": "gzip" } });
  assert.equal(packed.headers.get("content-encoding"), "gzip");
  assert.equal(((await packed.json()) as { data: { k: string } }).data.k.length, 200_000);
});

test("objects that are also served under another group are the same objects", async (t) => {
  const { send } = await testApi(t);
  const other = "/apis/notes.example/v1/namespaces/default/notes";
  const created = await send("POST", other, { metadata: { name: "n" }, words: { k: "v" } });
  assert.equal(created.status, 201);
  assert.deepEqual([created.body.apiVersion, created.body.words], ["notes.example/v1", { k: "v" }]);
  const stored = (await send("GET", "/api/v1/namespaces/default/notes/n")).body;
  assert.deepEqual([stored.apiVersion, stored.data, stored.words], ["v1", { k: "v" }, undefined]);
  const patched = await send(
    "PATCH",
    `${other}/n`,
    { words: { k: "w" } },
    { "content-type": "application/merge-patch+json" },
  );
  assert.deepEqual(patched.body.words, { k: "w" });
  const list = (await send("GET", other)).body;
  assert.deepEqual([list.apiVersion, list.items[0].words], ["notes.example/v1", { k: "w" }]);
});

test("action and connect subresources call their handlers", async (t) => {
  const { send } = await testApi(t);
  await send("POST", widgetsPath, widget("w"));
  const painted = await send("POST", `${widgetsPath}/w/paint`, { kind: "Paint", color: "red" });
  assert.deepEqual([painted.status, painted.body.color], [201, "red"]);
  assert.equal((await send("GET", `${widgetsPath}/w`)).body.spec.color, "red");
  assert.equal((await send("GET", `${widgetsPath}/w/paint`)).status, 405);
  assert.equal((await send("GET", `${widgetsPath}/w/echo/a%2Fb/c?x=1`)).text, "default/w /a%2Fb/c");
  assert.equal((await send("PUT", `${widgetsPath}/w/echo`, {})).status, 405);
  assert.equal((await send("GET", `${widgetsPath}/w/nothing`)).status, 404);
});

test("concurrent writes all succeed", async (t) => {
  const { send } = await testApi(t);
  await send("POST", mapsPath, configMap("a"));
  const merge = { "content-type": "application/merge-patch+json" };
  const responses = await Promise.all(
    Array.from({ length: 30 }, (_, i) => send("PATCH", `${mapsPath}/a`, { data: { [`k${i}`]: "v" } }, merge)),
  );
  assert.ok(responses.every(({ status }) => status === 200));
  assert.equal(Object.keys((await send("GET", `${mapsPath}/a`)).body.data).length, 30);
});
