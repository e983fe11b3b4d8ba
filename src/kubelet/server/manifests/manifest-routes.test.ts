import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { type IncomingMessage, request, type ServerResponse } from "node:http";
import { connect, constants, createServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { silentLogger } from "../../../lib/base/logger.ts";
import { serveRoutes } from "../logs/fake-route-server.ts";
import { decodeJson, podManifest } from "./fake-manifests.ts";
import { manifestRoutes } from "./manifest-routes.ts";
import { ManifestStore } from "./manifest-store.ts";

async function setUp(t: TestContext) {
  const dir = mkdtempSync(join(tmpdir(), "manifest-routes-"));
  t.after(() => rmSync(dir, { recursive: true }));
  const store = new ManifestStore({ dir, decode: decodeJson, logger: silentLogger, maxManifests: 2 });
  await store.open();
  const server = await serveRoutes(t, manifestRoutes({ store, maxBytes: 2000 }));
  return {
    store,
    server,
    async call(method: string, path: string, body?: Uint8Array) {
      const response = await fetch(`${server.url}${path}`, {
        method,
        ...(body && { body: new Uint8Array(body) }),
      });
      const text = await response.text();
      const isJson = response.headers.get("content-type") === "application/json";
      return { status: response.status, body: isJson ? JSON.parse(text) : text };
    },
  };
}

test("a manifest is put, shown, listed and deleted", async (t) => {
  const { call, store } = await setUp(t);
  const created = await call("PUT", "/manifests/web", podManifest("web"));
  const [pod] = store.pods();
  const pods = [{ namespace: "default", name: "web-node", uid: pod!.metadata.uid }];
  assert.deepEqual(created, { status: 201, body: { name: "web", result: "created", pods, warnings: [] } });
  assert.equal((await call("PUT", "/manifests/web", podManifest("web"))).body.result, "unchanged");
  assert.equal((await call("PUT", "/manifests/web", podManifest("web", "img:2"))).status, 200);
  assert.deepEqual(
    (await call("GET", "/manifests/web")).body,
    JSON.parse(podManifest("web", "img:2").toString()),
  );
  const list = await call("GET", "/manifests");
  assert.equal(list.body.items.length, 1);
  assert.equal(list.body.items[0].name, "web");
  assert.match(list.body.items[0].digest, /^sha256:[0-9a-f]{64}$/);
  assert.deepEqual(await call("DELETE", "/manifests/web"), {
    status: 200,
    body: { name: "web", result: "deleted" },
  });
  assert.deepEqual(await call("DELETE", "/manifests/web"), {
    status: 404,
    body: 'manifest "web" not found\n',
  });
  assert.equal((await call("GET", "/manifests/web")).status, 404);
});

test("each rejection has its status, names the problem, and changes nothing", async (t) => {
  const { call, store, server } = await setUp(t);
  await call("PUT", "/manifests/a", podManifest("a"));
  const noImage = Buffer.from(
    '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"containers":[{"name":"x"}]}}',
  );
  const invalid = await call("PUT", "/manifests/a", noImage);
  assert.equal(invalid.status, 422);
  assert.match(invalid.body.message, /^a: spec\.containers\[0\]\.image: /);
  assert.equal(invalid.body.problems[0].field, "spec.containers[0].image");
  const conflict = await call("PUT", "/manifests/b", podManifest("a"));
  assert.equal(conflict.status, 409);
  assert.match(conflict.body.message, /pod "default\/a-node" is already in manifest "a"/);
  for (const name of ["A", "a_b", "-a", ".draft", "a%2Fb", "x".repeat(254)])
    assert.equal((await call("PUT", `/manifests/${name}`, podManifest("x"))).status >= 400, true, name);
  assert.equal((await call("PUT", "/manifests/large", Buffer.alloc(2001, 32))).status, 413);
  assert.equal((await call("POST", "/manifests/a", podManifest("a"))).status, 405);
  await call("PUT", "/manifests/b", podManifest("b"));
  assert.equal((await call("PUT", "/manifests/c", podManifest("c"))).status, 403);
  assert.deepEqual(
    store.list().map(({ name }) => name),
    ["a", "b"],
  );
  assert.deepEqual(server.faults, []);
});

test("a manifest is YAML or JSON, and returned unchanged", async (t) => {
  const { server, store } = await setUp(t);
  const put = async (headers: Record<string, string>) =>
    (await fetch(`${server.url}/manifests/a`, { method: "PUT", headers, body: podManifest("a").toString() }))
      .status;
  for (const type of ["image/png", "multipart/form-data; boundary=x", "application/vnd.kubernetes.protobuf"])
    assert.equal(await put({ "content-type": type }), 415, type);
  assert.equal(await put({ "content-encoding": "gzip" }), 415);
  assert.deepEqual(store.list(), []);
  for (const type of [
    "application/json",
    "application/yaml; charset=utf-8",
    "text/yaml",
    "application/x-yaml",
    "application/x-www-form-urlencoded",
  ])
    assert.ok((await put({ "content-type": type })) < 300, type);
});

test("a truncated body changes nothing", async (t) => {
  const { server, store } = await setUp(t);
  const whole = podManifest("a");
  const put = request(`${server.url}/manifests/a`, {
    method: "PUT",
    headers: { "content-length": whole.length + 1 },
  });
  put.on("error", () => {});
  put.write(whole);
  for (const end = Date.now() + 10_000; server.active() === 0; ) {
    assert.ok(Date.now() < end, "the request did not arrive");
    await new Promise((resolve) => setImmediate(resolve));
  }
  put.destroy();
  for (const end = Date.now() + 10_000; server.active() > 0; ) {
    assert.ok(Date.now() < end, "the request is still handled");
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.deepEqual(store.list(), []);
});

test("a truncated body changes nothing with HTTP/2, where it ends like a complete one", async (t) => {
  const { store } = await setUp(t);
  const put = manifestRoutes({ store }).find(({ method }) => method === "PUT")!;
  const ended = Promise.withResolvers<unknown>();
  const server = createServer((request, response) => {
    const disconnected = new AbortController();
    response.on("close", () => disconnected.abort());
    const caller = { name: "test", groups: [] };
    put
      .handle({
        request: request as unknown as IncomingMessage,
        response: response as unknown as ServerResponse,
        params: { name: "a" },
        query: new URLSearchParams(),
        signal: disconnected.signal,
        caller,
      })
      .then(() => ended.resolve("put"), ended.resolve);
    request.once("readable", () => stream.close(constants.NGHTTP2_CANCEL));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const session = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  t.after(() => {
    session.destroy();
    server.close();
  });
  const stream = session.request({ ":method": "PUT", ":path": "/manifests/a" });
  stream.on("error", () => {});
  stream.write(podManifest("a"));
  assert.notEqual(await ended.promise, "put");
  assert.deepEqual(store.list(), []);
});
