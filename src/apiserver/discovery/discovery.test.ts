import assert from "node:assert/strict";
import { test } from "node:test";
import { testApi } from "../rest/fixtures.ts";
import type { OpenApi } from "./discovery.ts";

test("/api and /apis list the groups and their versions", async (t) => {
  const { send } = await testApi(t);
  assert.deepEqual((await send("GET", "/api")).body.versions, ["v1"]);
  const groups = (await send("GET", "/apis")).body.groups;
  assert.deepEqual(
    groups.map((group: { name: string }) => group.name),
    ["things.example", "notes.example"],
  );
  const { body } = await send("GET", "/apis/things.example");
  assert.deepEqual(body, {
    kind: "APIGroup",
    apiVersion: "v1",
    name: "things.example",
    versions: [{ groupVersion: "things.example/v1", version: "v1" }],
    preferredVersion: { groupVersion: "things.example/v1", version: "v1" },
  });
  assert.ok((await send("GET", "/")).body.paths.includes("/apis/things.example/v1"));
  for (const path of ["/apis/nothing", "/apis/things.example/v2", "/api/v2", "/nothing"])
    assert.equal((await send("GET", path)).status, 404);
});

test("a version lists its resources and their subresources", async (t) => {
  const { send } = await testApi(t);
  const { body } = await send("GET", "/apis/things.example/v1");
  assert.equal(body.groupVersion, "things.example/v1");
  const all = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
  assert.deepEqual(body.resources, [
    {
      name: "widgets",
      singularName: "widget",
      namespaced: true,
      kind: "Widget",
      verbs: all,
      shortNames: ["wd"],
      categories: ["all"],
    },
    { name: "widgets/echo", singularName: "", namespaced: true, kind: "Widget", verbs: ["create", "get"] },
    { name: "widgets/paint", singularName: "", namespaced: true, kind: "Paint", verbs: ["create"] },
    {
      name: "widgets/status",
      singularName: "",
      namespaced: true,
      kind: "Widget",
      verbs: ["get", "patch", "update"],
    },
  ]);
});

test("aggregated discovery is served to clients that accept it", async (t) => {
  const { send } = await testApi(t);
  const accept = {
    accept: "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json",
  };
  const { body, headers } = await send("GET", "/apis", undefined, accept);
  assert.equal(
    headers.get("content-type"),
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
  );
  assert.deepEqual([body.kind, body.apiVersion], ["APIGroupDiscoveryList", "apidiscovery.k8s.io/v2"]);
  const [things] = body.items;
  assert.equal(things.metadata.name, "things.example");
  const [widgets] = things.versions[0].resources;
  assert.deepEqual(
    [widgets.resource, widgets.scope, widgets.subresources.length],
    ["widgets", "Namespaced", 3],
  );
  const core = (await send("GET", "/api", undefined, accept)).body;
  assert.deepEqual(
    core.items[0].versions[0].resources.map((one: { resource: string }) => one.resource),
    ["configmaps", "namespaces", "notes"],
  );
});

test("a client with a current ETag gets 304", async (t) => {
  const { send } = await testApi(t);
  const first = await send("GET", "/api/v1");
  const again = await send("GET", "/api/v1", undefined, { "if-none-match": first.headers.get("etag")! });
  assert.deepEqual([again.status, again.text], [304, ""]);
});

test("/version reports the Kubernetes version", async (t) => {
  const { send } = await testApi(t);
  const { major, minor, gitVersion } = (await send("GET", "/version")).body;
  assert.deepEqual([major, minor, gitVersion], ["1", "36", "v1.36.4"]);
});

test("health endpoints report single checks, verbose text and failures", async (t) => {
  let good = true;
  const disk = () => (good ? ({ ok: true } as const) : ({ ok: false, reason: "full" } as const));
  const { send } = await testApi(t, { checks: { disk } });
  for (const path of ["/healthz", "/livez", "/readyz", "/readyz/ping", "/healthz/disk"])
    assert.deepEqual((await send("GET", path)).text, "ok");
  assert.equal(
    (await send("GET", "/readyz?verbose")).text,
    "[+]ping ok\n[+]storage ok\n[+]disk ok\nreadyz check passed\n",
  );
  good = false;
  const bad = await send("GET", "/healthz");
  assert.deepEqual(
    [bad.status, bad.text],
    [500, "[+]ping ok\n[+]storage ok\n[-]disk failed: reason withheld\nhealthz check failed\n"],
  );
  assert.equal((await send("GET", "/healthz?exclude=disk")).status, 200);
  assert.equal((await send("GET", "/healthz/nothing")).status, 404);
});

test("other documents are served at their paths", async (t) => {
  const { send } = await testApi(t, { documents: { "/openid/v1/jwks": () => ({ keys: [] }) } });
  assert.deepEqual((await send("GET", "/openid/v1/jwks")).body, { keys: [] });
  assert.equal((await send("GET", "/openid/v1/other")).status, 404);
});

test("paths below /openapi are served by the OpenAPI handler", async (t) => {
  const openapi: OpenApi = {
    handle: ({ path, hash }): ReturnType<OpenApi["handle"]> =>
      path === "/openapi/v2"
        ? { status: 200, headers: { "content-type": "x/y" }, body: Buffer.from(`hash ${hash}`) }
        : { status: 404, headers: {}, body: Buffer.alloc(0) },
  };
  const { send } = await testApi(t, { openapi });
  const { text, headers } = await send("GET", "/openapi/v2?hash=1");
  assert.deepEqual([text, headers.get("content-type")], ["hash 1", "x/y"]);
  assert.equal((await send("GET", "/openapi/v4")).body.kind, "Status");
});
