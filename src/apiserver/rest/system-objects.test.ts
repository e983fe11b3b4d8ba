import assert from "node:assert/strict";
import { test } from "node:test";
import type { Unstructured } from "../definition.ts";
import { StatusError } from "../status-error.ts";
import { configMap, mapsPath, testApi, widget, widgetsPath } from "./fixtures.ts";

const ref = (name: string) => ({ resource: "widgets.things.example", namespace: "default", name });

test("internal access follows the rules of HTTP requests, with the same errors", async (t) => {
  const { server } = await testApi(t);
  const { objects } = server;
  const created = await objects.create("widgets.things.example", {
    metadata: { name: "w", namespace: "default" },
  });
  assert.deepEqual(created.spec, { size: 1 });
  await assert.rejects(
    objects.create("widgets.things.example", { metadata: { name: "w", namespace: "default" } }),
    (error) => error instanceof StatusError && error.status === 409 && error.reason === "AlreadyExists",
  );
  await assert.rejects(
    objects.change(ref("w"), (draft) => {
      draft.spec.size = 101;
    }),
    (error) => error instanceof StatusError && error.status === 422,
  );
  assert.equal(await objects.get(ref("none")), undefined);
  assert.equal(await objects.change(ref("none"), () => {}), undefined);
  assert.equal(await objects.change(ref("w"), () => {}, { uid: "other" }), undefined);
  assert.equal(await objects.delete(ref("none")), undefined);
  assert.equal((await objects.list("widgets.things.example", "default")).length, 1);
});

test("the status is changed through its subresource", async (t) => {
  const { server } = await testApi(t);
  const { objects } = server;
  await objects.create("widgets.things.example", { metadata: { name: "w", namespace: "default" } });
  const change = (draft: Unstructured) => {
    draft.spec = { size: 5 };
    draft.status = { ok: true };
  };
  const status = await objects.change(ref("w"), change, { subresource: "status" });
  assert.deepEqual([status?.spec, status?.status], [{ size: 1 }, { ok: true }]);
  const main = await objects.change(ref("w"), (draft) => {
    draft.spec.size = 5;
    draft.status = { ok: false };
  });
  assert.deepEqual([main?.spec, main?.status], [{ size: 5 }, { ok: true }]);
});

test("an internal subresource is not served over HTTP, and need not increment the generation", async (t) => {
  const { server, send } = await testApi(t);
  const { objects } = server;
  await objects.create("widgets.things.example", { metadata: { name: "w", namespace: "default" } });
  const grow = (draft: Unstructured) => {
    draft.spec.size += 1;
  };
  const hidden = await objects.change(ref("w"), grow, { subresource: "hidden" });
  assert.deepEqual([hidden?.spec, hidden?.metadata.generation], [{ size: 2 }, 1]);
  assert.equal((await objects.change(ref("w"), grow))?.metadata.generation, 2);
  assert.equal((await send("GET", `${widgetsPath}/w/hidden`)).status, 404);
});

test("concurrent changes are all applied", async (t) => {
  const { server } = await testApi(t);
  const { objects } = server;
  await objects.create("widgets.things.example", { metadata: { name: "w", namespace: "default" } });
  await Promise.all(
    Array.from({ length: 20 }, () =>
      objects.change(ref("w"), (draft) => {
        draft.spec.size += 1;
      }),
    ),
  );
  assert.deepEqual((await objects.get(ref("w")))?.spec, { size: 21 });
});

test("listAndWatch starts with the existing objects, and misses nothing if its resourceVersion is too old", async (t) => {
  const api = await testApi(t, { storeOptions: { recentEvents: 1 } });
  const { server, store, send } = api;
  await send("POST", widgetsPath, widget("a"));
  await send("POST", widgetsPath, widget("b"));
  const controller = new AbortController();
  const watched = server.objects
    .listAndWatch("widgets.things.example", controller.signal)
    [Symbol.asyncIterator]();
  const next = async () => {
    const { value } = await watched.next();
    return `${value?.type} ${value?.object.metadata.name}`;
  };
  assert.deepEqual([await next(), await next()], ["ADDED a", "ADDED b"]);
  await server.objects.delete(ref("a"), { gracePeriodSeconds: 0 });
  await server.objects.change(ref("b"), (draft) => {
    draft.spec.size = 2;
  });
  await send("POST", widgetsPath, widget("c"));
  await send("POST", mapsPath, configMap("x"));
  await send("POST", mapsPath, configMap("y"));
  store.compact();
  assert.deepEqual([await next(), await next(), await next()], ["DELETED a", "MODIFIED b", "ADDED c"]);
  const rest = next();
  await send("POST", widgetsPath, widget("d"));
  assert.equal(await rest, "ADDED d");
  const end = watched.next();
  controller.abort();
  assert.equal((await end).done, true);
});

test("internal writes of a dry run are not stored", async (t) => {
  const api = await testApi(t);
  await api.send("POST", widgetsPath, widget("w"));
  const painted = await api.send("POST", `${widgetsPath}/w/paint?dryRun=All`, { color: "red" });
  assert.equal(painted.status, 201);
  assert.equal((await api.send("GET", `${widgetsPath}/w`)).body.spec.color, undefined);
});
