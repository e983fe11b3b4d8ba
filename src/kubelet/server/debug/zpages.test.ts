import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { parse } from "yaml";
import { allowAll } from "../auth/node-access.ts";
import { fakeNodeRoutes } from "../fake-node.ts";
import { send, startServer, type TestServer } from "../fixtures.ts";

let server: TestServer;

before(async () => {
  server = await startServer({ routes: fakeNodeRoutes({ url: () => "" }), access: allowAll });
});

after(() => server.stop());

const text = "text/plain; charset=utf-8";
const pages = [
  ["/flagz", "Flagz"],
  ["/statusz", "Statusz"],
] as const;

/** Responses of kubelet v1.36.4. KIND is the kind of the page. */
const negotiations: [accept: string, status: number, contentType: string][] = [
  ["", 200, text],
  ["*/*", 200, text],
  ["text/plain", 200, text],
  ["text/plain;charset=utf-8", 200, text],
  ["text/*", 200, text],
  ["text/html,application/xhtml+xml,*/*;q=0.8", 200, text],
  ["application/json;g=config.k8s.io;v=v9;as=KIND,text/plain", 200, text],
  ["text/html", 406, "application/json"],
  ["application/json", 406, "application/json"],
  ["application/json;g=config.k8s.io;v=v1;as=KIND", 406, "application/json"],
  ["application/cbor;g=config.k8s.io;v=v1beta1;as=KIND", 406, "application/json"],
  [
    "application/json;g=config.k8s.io;v=v1beta1;as=KIND",
    200,
    "application/json;g=config.k8s.io;v=v1beta1;as=KIND",
  ],
  [
    "application/json;g=config.k8s.io;v=v1alpha1;as=KIND",
    200,
    "application/json;g=config.k8s.io;v=v1alpha1;as=KIND",
  ],
  [
    "application/yaml;g=config.k8s.io;v=v1beta1;as=KIND",
    200,
    "application/yaml;g=config.k8s.io;v=v1beta1;as=KIND",
  ],
  [
    "application/*;g=config.k8s.io;v=v1beta1;as=KIND",
    200,
    "application/json;g=config.k8s.io;v=v1beta1;as=KIND",
  ],
  [
    "text/plain;q=0.1, application/json;g=config.k8s.io;v=v1beta1;as=KIND;q=0.9",
    200,
    "application/json;g=config.k8s.io;v=v1beta1;as=KIND",
  ],
];

for (const [path, kind] of pages)
  describe(path, () => {
    const structured = (type: string, version = "v1beta1") =>
      `${type};g=config.k8s.io;v=${version};as=${kind}`;

    for (const [accept, status, contentType] of negotiations)
      test(`Accept: ${accept || "none"}`, async () => {
        const headers: Record<string, string> = accept ? { accept: accept.replace("KIND", kind) } : {};
        const response = await send(server.port, path, { headers });
        assert.deepEqual(
          [response.status, response.headers["content-type"]],
          [status, contentType.replace("KIND", kind)],
        );
      });

    test("a rejection is a Status: one line for JSON, otherwise indented", async () => {
      const compact = await send(server.port, path, { headers: { accept: "application/json" } });
      const indented = await send(server.port, path, { headers: { accept: "text/html" } });
      assert.equal(
        compact.body,
        '{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"only the following media types are accepted: application/json, application/yaml, text/plain","reason":"NotAcceptable","code":406}\n',
      );
      assert.equal(indented.body, JSON.stringify(JSON.parse(compact.body), undefined, 2));
    });

    test("JSON is one line, or indented on request; YAML has the same content", async () => {
      const get = (accept: string, more = "", agent = "") =>
        send(server.port, `${path}${more}`, {
          headers: { accept, ...(agent && { "user-agent": agent }) },
        });
      const { body } = await get(structured("application/json"));
      assert.match(
        body,
        /^\{"kind":"\w+","apiVersion":"config\.k8s\.io\/v1beta1","metadata":\{"name":"kubelet"\},.*\}\n$/,
      );
      const without = (json: string) => ({ ...(JSON.parse(json) as object), uptimeSeconds: 0 });
      for (const pretty of [
        await get(structured("application/json"), "?pretty=true"),
        await get(`${structured("application/json")};pretty=1`),
        await get(structured("application/json"), "", "curl/8.5.0"),
      ]) {
        assert.match(pretty.body, /^\{\n {2}"kind": /);
        assert.deepEqual(without(pretty.body), without(body));
      }
      const plain = await get(structured("application/json"), "?pretty=0", "curl/8.5.0");
      assert.match(plain.body, /^\{"kind"/);
      const yaml = await get(structured("application/yaml"));
      assert.match(yaml.body, /^apiVersion: config\.k8s\.io\/v1beta1\n/);
      assert.deepEqual({ ...parse(yaml.body), uptimeSeconds: 0 }, without(body));
    });

    test("the older version is deprecated", async () => {
      const older = await send(server.port, path, {
        headers: { accept: structured("application/json", "v1alpha1") },
      });
      assert.equal(
        older.headers.warning,
        `299 - "This version of the ${path.slice(1)} endpoint is deprecated. Please use a newer version."`,
      );
      const newer = await send(server.port, path, { headers: { accept: structured("application/json") } });
      assert.equal(newer.headers.warning, undefined);
    });

    test("any method is served, and a trailing slash is not found", async () => {
      for (const method of ["POST", "HEAD", "PUT"])
        assert.equal((await send(server.port, path, { method })).status, 200, method);
      const { status, body } = await send(server.port, `${path}/`);
      assert.deepEqual([status, body], [404, "404 page not found\n"]);
    });
  });

// parity: gate ComponentStatusz=true as statusz, gate ComponentStatusz=false as statusz
// parity: gate ComponentFlagz=true as flagz, gate ComponentFlagz=false as flagz
test("each page is served only with its gate", async () => {
  for (const gates of [
    { statusz: true, flagz: false },
    { statusz: false, flagz: true },
  ]) {
    const own = await startServer({ routes: fakeNodeRoutes({ url: () => "", gates }), access: allowAll });
    const served = async (path: string) => (await send(own.port, path)).status === 200;
    assert.deepEqual({ statusz: await served("/statusz"), flagz: await served("/flagz") }, gates);
    await own.stop();
  }
});

// parity: endpoint 10250 GET /statusz
test("statusz: start time, version and debug paths", async () => {
  const { body } = await send(server.port, "/statusz");
  const lines = body.split("\n");
  assert.deepEqual(
    [lines[0], lines[1], lines[3], lines[4]],
    ["", "kubelet statusz", "", "Started: Thu Jan  1 00:00:00 UTC 1970"],
  );
  assert.match(lines[2] ?? "", /^Warning: This endpoint is not meant to be machine parseable/);
  assert.match(lines[5] ?? "", /^Up: \d+ hr \d\d min \d\d sec$/);
  assert.match(lines[6] ?? "", /^Go version: /);
  assert.deepEqual(lines.slice(7), [
    "Binary version: 1.36.0",
    "Emulation version: 1.36",
    "Paths: /configz /debug /flagz /healthz",
    "",
  ]);
  const accept = "application/json;g=config.k8s.io;v=v1beta1;as=Statusz";
  const status = JSON.parse((await send(server.port, "/statusz", { headers: { accept } })).body);
  assert.deepEqual(Object.keys(status), [
    "kind",
    "apiVersion",
    "metadata",
    "startTime",
    "uptimeSeconds",
    "goVersion",
    "binaryVersion",
    "emulationVersion",
    "paths",
  ]);
  assert.deepEqual(
    [status.startTime, status.binaryVersion, status.emulationVersion, status.paths],
    ["1970-01-01T00:00:00Z", "1.36.0", "1.36", ["/configz", "/debug", "/flagz", "/healthz"]],
  );
});

// parity: endpoint 10250 GET /flagz
test("flagz: the flags by name", async () => {
  const accept = "application/json;g=config.k8s.io;v=v1beta1;as=Flagz";
  const { body } = await send(server.port, "/flagz", { headers: { accept } });
  assert.deepEqual(JSON.parse(body), {
    kind: "Flagz",
    apiVersion: "config.k8s.io/v1beta1",
    metadata: { name: "kubelet" },
    flags: { v: "2" },
  });
  assert.match((await send(server.port, "/flagz")).body, /^\nkubelet flagz\nWarning: .*\nv=2\n$/);
});
