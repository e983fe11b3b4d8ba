import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { silentLogger } from "../../lib/base/logger.ts";
import type { Summary } from "../../lib/model/stats-summary.ts";
import type { ResourceDefinition } from "../definition.ts";
import { allowAll } from "../fixtures.ts";
import { authority, fakeKubelet } from "../proxy/fixtures.ts";
import { configMaps, namespaces, testApi } from "../rest/fixtures.ts";
import { tableOf } from "../tables/table-of.ts";
import { metricsDefinitions } from "./metrics-definitions.ts";

const plain = { group: "", version: "v1", singular: "" };
const nodes: ResourceDefinition = { ...plain, name: "nodes", kind: "Node", namespaced: false };
const pods: ResourceDefinition = { ...plain, name: "pods", kind: "Pod", namespaced: true };

const time = "2026-01-02T03:04:05Z";
const use = (nanoCores: number, bytes: number) => ({
  cpu: { time, usageNanoCores: nanoCores, usageCoreNanoSeconds: 1 },
  memory: { time, workingSetBytes: bytes },
});
const stats = (name: string, ...containers: object[]) => ({
  podRef: { name, namespace: "default", uid: "other than in the API" },
  startTime: time,
  containers: containers as never,
});
const summary: Summary = {
  node: { nodeName: "n", startTime: time, ...use(511_215_083, 2_347_409_408) },
  pods: [
    stats(
      "web",
      { name: "c", startTime: time, ...use(2_812_215, 319_488) },
      { name: "d", startTime: time, ...use(1, 2048) },
    ),
    stats("half", { name: "c", startTime: time, ...use(1, 1) }, { name: "d", startTime: time }),
    stats("stranger", { name: "c", startTime: time, ...use(1, 1) }),
  ],
};

const base = "/apis/metrics.k8s.io/v1beta1";

async function setUp(t: TestContext) {
  const signer = authority();
  const kubelet = await fakeKubelet(t, signer);
  const requests: string[] = [];
  kubelet.handle = (request, response) => {
    requests.push(String(request.url));
    response.end(JSON.stringify(summary));
  };
  const { cert, key } = signer.sign("api", "client auth");
  const credentials = () => ({ clientCert: cert, clientKey: key, ca: signer.ca });
  const definitions = [
    ...[namespaces, configMaps, nodes, pods],
    ...metricsDefinitions({ credentials, authorizer: allowAll.authorizer, logger: silentLogger }),
  ];
  const api = await testApi(t, { definitions, tables: tableOf });
  const { objects } = api.server;
  const status = (port: number) => ({
    addresses: [{ type: "InternalIP", address: "127.0.0.1" }],
    daemonEndpoints: { kubeletEndpoint: { Port: port } },
  });
  await objects.create("nodes", {
    metadata: { name: "n", labels: { zone: "a" } },
    status: status(kubelet.port),
  });
  await objects.create("nodes", { metadata: { name: "dead" }, status: status(1) });
  for (const [name, nodeName] of [
    ["web", "n"],
    ["half", "n"],
    ["idle", "n"],
    ["lost", "dead"],
    ["pending", undefined],
  ] as const)
    await objects.create("pods", {
      metadata: { name, namespace: "default", labels: { app: name } },
      spec: nodeName ? { nodeName } : {},
    });
  return { api, requests, kubelet };
}

describe("metrics.k8s.io", () => {
  it("is listed in discovery, with its verbs", async (t) => {
    const { api } = await setUp(t);
    const { body } = await api.send("GET", base);
    assert.deepEqual(
      (body.resources as { name: string; kind: string; verbs: string[]; namespaced: boolean }[]).map(
        ({ name, kind, verbs, namespaced }) => [name, kind, verbs, namespaced],
      ),
      [
        ["nodes", "NodeMetrics", ["get", "list"], false],
        ["pods", "PodMetrics", ["get", "list"], true],
      ],
    );
    const groups = (await api.send("GET", "/apis")).body.groups as { name: string }[];
    assert.ok(groups.some(({ name }) => name === "metrics.k8s.io"));
  });

  it("nodes whose kubelet responds are listed", async (t) => {
    const { api, requests } = await setUp(t);
    const { status, body } = await api.send("GET", `${base}/nodes`);
    assert.equal(status, 200);
    assert.equal(body.kind, "NodeMetricsList");
    assert.equal(body.items.length, 1);
    const [{ metadata, ...rest }] = body.items;
    assert.deepEqual(metadata.labels, { zone: "a" });
    assert.equal(metadata.name, "n");
    assert.deepEqual(rest, {
      timestamp: time,
      window: "1s",
      usage: { cpu: "511215083n", memory: "2292392Ki" },
    });
    assert.deepEqual(requests, ["/stats/summary?only_cpu_and_memory=true"]);
    assert.equal((await api.send("GET", `${base}/nodes/n`)).body.kind, "NodeMetrics");
  });

  it("lists pods in the API whose containers are all measured", async (t) => {
    const { api } = await setUp(t);
    for (const path of [`${base}/namespaces/default/pods`, `${base}/pods`]) {
      const { body } = await api.send("GET", path);
      assert.deepEqual(
        (body.items as { metadata: { name: string } }[]).map(({ metadata }) => metadata.name),
        ["web"],
      );
      assert.deepEqual(body.items[0].containers, [
        { name: "c", usage: { cpu: "2812215n", memory: "312Ki" } },
        { name: "d", usage: { cpu: "1n", memory: "2Ki" } },
      ]);
    }
    assert.deepEqual((await api.send("GET", `${base}/namespaces/other/pods`)).body.items, []);
  });

  it("selectors apply", async (t) => {
    const { api } = await setUp(t);
    const count = async (query: string) =>
      (await api.send("GET", `${base}/namespaces/default/pods?${query}`)).body.items.length as number;
    assert.equal(await count("labelSelector=app%3Dweb"), 1);
    assert.equal(await count("labelSelector=app%3Dnone"), 0);
    assert.equal(await count("fieldSelector=metadata.name%3Dweb"), 1);
    assert.equal(await count("fieldSelector=metadata.name%3Dnone"), 0);
  });

  it("an object without metrics is not found, with the usual message", async (t) => {
    const { api } = await setUp(t);
    for (const name of ["idle", "half", "lost", "pending", "none"]) {
      const { status, body } = await api.send("GET", `${base}/namespaces/default/pods/${name}`);
      assert.equal(status, 404);
      assert.equal(body.message, `podmetrics.metrics.k8s.io "default/${name}" not found`);
    }
    const { body } = await api.send("GET", `${base}/nodes/dead`);
    assert.equal(body.message, 'nodemetrics.metrics.k8s.io "dead" not found');
  });

  it("tables, and nothing but get and list", async (t) => {
    const { api } = await setUp(t);
    const accept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
    const { body } = await api.send("GET", `${base}/namespaces/default/pods`, undefined, { accept });
    assert.deepEqual(
      body.rows.map(({ cells }: { cells: unknown }) => cells),
      [["web", "2812216n", "314Ki", "1s"]],
    );
    for (const [method, path] of [
      ["POST", `${base}/namespaces/default/pods`],
      ["DELETE", `${base}/nodes/n`],
      ["PUT", `${base}/nodes/n`],
      ["GET", `${base}/nodes?watch=true`],
    ] as const)
      assert.equal(
        (await api.send(method, path, method === "GET" ? undefined : {})).status,
        405,
        `${method} ${path}`,
      );
  });

  it("a kubelet that rejects the request, sends garbage or disconnects is omitted", async (t) => {
    const { api, kubelet } = await setUp(t);
    const ways: (typeof kubelet.handle)[] = [
      (_, response) => response.writeHead(403).end("Forbidden"),
      (_, response) => response.end("no JSON"),
      (_, response) => response.end("null"),
      (_, response) => response.end('{"node":{}}'),
      (request) => request.socket.destroy(),
    ];
    for (const way of ways) {
      kubelet.handle = way;
      const { status, body } = await api.send("GET", `${base}/nodes`);
      assert.deepEqual([status, body.items], [200, []]);
    }
  });
});
