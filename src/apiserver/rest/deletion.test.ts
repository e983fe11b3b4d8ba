import assert from "node:assert/strict";
import { test } from "node:test";
import { configMap, mapsPath, testApi, widget, widgetsPath } from "./fixtures.ts";

test("a deletion returns a Status if the object is removed, and the object if it is kept", async (t) => {
  const { send } = await testApi(t);
  const { body: map } = await send("POST", mapsPath, configMap("a"));
  const removed = await send("DELETE", `${mapsPath}/a`);
  assert.equal(removed.status, 200);
  assert.deepEqual(removed.body, {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Success",
    details: { name: "a", kind: "configmaps", uid: map.metadata.uid },
    code: 200,
  });
  assert.equal((await send("DELETE", `${mapsPath}/a`)).status, 404);

  await send("POST", widgetsPath, widget("w"));
  const marked = await send("DELETE", `${widgetsPath}/w`);
  assert.equal(marked.status, 200);
  assert.equal(marked.body.kind, "Widget");
  assert.equal(marked.body.metadata.deletionGracePeriodSeconds, 30);
  const again = await send("DELETE", `${widgetsPath}/w`);
  assert.equal(again.body.metadata.resourceVersion, marked.body.metadata.resourceVersion);
});

test("a graceful deletion is completed by one with grace period 0 for the same UID", async (t) => {
  const { send } = await testApi(t);
  const { body } = await send("POST", widgetsPath, widget("w"));
  await send("DELETE", `${widgetsPath}/w`);
  const end = (uid: string) =>
    send("DELETE", `${widgetsPath}/w`, { gracePeriodSeconds: 0, preconditions: { uid } });
  const other = await end("other");
  assert.equal(other.status, 409);
  assert.equal(
    other.body.message,
    `Operation cannot be fulfilled on Widget.things.example "w": the UID in the precondition (other) does not match the UID in record (${body.metadata.uid}). The object might have been deleted and then recreated`,
  );
  const done = await end(body.metadata.uid);
  assert.equal(done.body.kind, "Widget");
  assert.equal((await send("GET", `${widgetsPath}/w`)).status, 404);
});

test("removing the last finalizer removes a deleted object", async (t) => {
  const { send } = await testApi(t);
  await send("POST", mapsPath, configMap("a", {}, { finalizers: ["x.y/z"] }));
  const marked = await send("DELETE", `${mapsPath}/a`);
  assert.deepEqual(marked.body.metadata.finalizers, ["x.y/z"]);
  assert.equal(marked.body.metadata.deletionGracePeriodSeconds, 0);
  const more = await send("PUT", `${mapsPath}/a`, configMap("a", {}, { finalizers: ["x.y/z", "n.e/w"] }));
  assert.equal(more.status, 422);
  assert.match(
    more.body.message,
    /no new finalizers can be added .* found new finalizers \[\]string\{"n\.e\/w"\}/,
  );
  const merge = { "content-type": "application/merge-patch+json" };
  const last = await send("PATCH", `${mapsPath}/a`, { metadata: { finalizers: null } }, merge);
  assert.equal(last.status, 200);
  assert.equal((await send("GET", `${mapsPath}/a`)).status, 404);
});

test("a resourceVersion in the preconditions is checked", async (t) => {
  const { send } = await testApi(t);
  const { body } = await send("POST", mapsPath, configMap("a"));
  const rejected = await send("DELETE", `${mapsPath}/a`, { preconditions: { resourceVersion: "1" } });
  assert.equal(rejected.status, 409);
  const { resourceVersion } = body.metadata;
  assert.equal((await send("DELETE", `${mapsPath}/a`, { preconditions: { resourceVersion } })).status, 200);
});

test("deletecollection deletes the selected objects", async (t) => {
  const { send } = await testApi(t);
  for (const name of ["a", "b", "c"])
    await send("POST", mapsPath, configMap(name, {}, { labels: { keep: String(name === "c") } }));
  const response = await send("DELETE", `${mapsPath}?labelSelector=keep!%3Dtrue`);
  assert.equal(response.status, 200);
  assert.equal(response.body.kind, "ConfigMapList");
  assert.deepEqual(
    response.body.items.map((item: { metadata: { name: string } }) => item.metadata.name),
    ["a", "b"],
  );
  const left = (await send("GET", mapsPath)).body.items;
  assert.deepEqual(
    left.map((item: { metadata: { name: string } }) => item.metadata.name),
    ["c"],
  );
});

const wrongOptions = [
  [{ propagationPolicy: "Sideways" }, 422, /propagationPolicy: Unsupported value: "Sideways"/],
  [{ propagationPolicy: "Orphan", orphanDependents: true }, 422, /cannot be both set/],
  [{ kind: "ConfigMap" }, 400, /decoded object cannot be converted to DeleteOptions/],
] as const;
for (const [options, status, message] of wrongOptions)
  test(`invalid delete options: ${JSON.stringify(options)}`, async (t) => {
    const { send } = await testApi(t);
    await send("POST", mapsPath, configMap("a"));
    const response = await send("DELETE", `${mapsPath}/a`, options);
    assert.equal(response.status, status);
    assert.match(response.body.message, message);
    assert.equal((await send("GET", `${mapsPath}/a`)).status, 200);
  });

test("nothing is created in a terminating namespace", async (t) => {
  const { send, server } = await testApi(t);
  await server.objects.change({ resource: "namespaces", namespace: "", name: "default" }, (draft) => {
    draft.status.phase = "Terminating";
  });
  const response = await send("POST", mapsPath, configMap("a"));
  assert.equal(response.status, 403);
  assert.equal(
    response.body.message,
    'configmaps "a" is forbidden: unable to create new content in namespace default because it is being terminated',
  );
  assert.equal(response.body.details.causes[0].reason, "NamespaceTerminating");
});
