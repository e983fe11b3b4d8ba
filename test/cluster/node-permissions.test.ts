import assert from "node:assert/strict";
import { test } from "node:test";
import type { ServedRequest } from "../../src/apiserver/rest/rest-handler.ts";
import type { NodeObject } from "../../src/kubelet/node/node-types.ts";
import type { KubeRequest } from "../../src/lib/clients/kube/transport-interface.ts";
import type { Pod, PodSpec } from "../../src/lib/model/pod.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { container, nodeName, TestCluster } from "./cluster-node.ts";
import { startMachineApi } from "./machine-api.ts";

const inDefault = "/api/v1/namespaces/default";
const leasePath = `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${nodeName}`;
const nodePath = `/api/v1/nodes/${nodeName}`;

const isNodes = ({ caller }: ServedRequest) => caller?.name === `system:node:${nodeName}`;
const isDenied = ({ status }: ServedRequest) => status === 401 || status === 403;
const brief = ({ status, verb, path }: ServedRequest) => `${status} ${verb} ${path}`;

test("the API server rejects no request of an agent, from registration to the removal of its pods", {
  timeout: 100_000,
}, async (t) => {
  const { cluster, admin, served, client } = await startMachineApi(t);
  const get = <T>(path: string) => admin.request<T>({ method: "GET", path });
  const remove = (path: string, body: object = {}) => admin.request({ method: "DELETE", path, body });
  const post = <T>(path: string, kind: string, name: string, more: object = {}, apiVersion = "v1") =>
    admin.request<T>({ method: "POST", path, body: { apiVersion, kind, metadata: { name }, ...more } });
  const addPod = (name: string, spec: Partial<PodSpec> = {}) =>
    post<Pod>(`${inDefault}/pods`, "Pod", name, {
      spec: { terminationGracePeriodSeconds: 3, containers: [container()], ...spec },
    });
  const podIs = (name: string, check: (pod: Pod) => void) =>
    waitFor(async () => check(await get<Pod>(`${inDefault}/pods/${name}`)), 20_000);
  const hasPhase = (name: string, phase: string) =>
    podIs(name, ({ status, metadata }) => {
      assert.equal(metadata.deletionTimestamp, undefined);
      assert.equal(status?.phase, phase, JSON.stringify(status));
    });
  const nodeIsReady = () =>
    waitFor(async () => {
      const { status } = await get<NodeObject>(nodePath);
      assert.equal(status.conditions?.find(({ type }) => type === "Ready")?.status, "True");
    });
  const isGone = (path: string) => waitFor(() => assert.rejects(get(path), { status: 404 }));

  // The default service account is created soon after the namespace.
  await waitFor(() => get(`${inDefault}/serviceaccounts/default`));
  await post(`${inDefault}/configmaps`, "ConfigMap", "cm", { data: { a: "1" } });
  for (const name of ["s", "pull", "unreferenced"])
    await post(`${inDefault}/secrets`, "Secret", name, { data: { k: "YQ==" } });
  const classes = "/apis/node.k8s.io/v1/runtimeclasses";
  await post(classes, "RuntimeClass", "plain", { handler: "runc" }, "node.k8s.io/v1");
  await post(`${inDefault}/services`, "Service", "svc", { spec: { ports: [{ port: 80 }] } });

  const node = await TestCluster.start(t, { cluster });
  const heartbeats = { nodeStatusUpdateFrequency: 1000, nodeStatusReportFrequency: 1000 };
  const config = { ...node.config(), nodeLeaseDurationSeconds: 4, ...heartbeats };
  await node.placeManifest("static");
  await node.startAgent({ config });
  const mirror = `${inDefault}/pods/static-${nodeName}`;

  await t.test("the node registers and creates mirrors of static pods", async () => {
    await hasPhase(`static-${nodeName}`, "Running");
    await nodeIsReady();
  });

  await t.test("pods read objects, complete, fail, are rejected and crash", async () => {
    await addPod("web", {
      nodeName,
      imagePullSecrets: [{ name: "pull" }],
      containers: [
        container({
          envFrom: [{ configMapRef: { name: "cm" } }, { secretRef: { name: "none", optional: true } }],
          env: [
            { name: "S", valueFrom: { secretKeyRef: { name: "s", key: "k" } } },
            { name: "O", valueFrom: { configMapKeyRef: { name: "none", key: "k", optional: true } } },
          ],
        }),
      ],
    });
    await addPod("bound", { runtimeClassName: "plain" });
    await addPod("elsewhere", { nodeName, nodeSelector: { zone: "b" } });
    const { metadata } = await addPod("ends", { restartPolicy: "Never" });
    const crashing = await addPod("crashes");
    for (const name of ["web", "bound", "ends", "crashes"]) await hasPhase(name, "Running");
    node.runtime.exit(node.runningOf(metadata.uid)[0]!.id, 0);
    await hasPhase("ends", "Succeeded");
    await hasPhase("elsewhere", "Failed");
    for (let restarts = 1; restarts <= 2; restarts++) {
      const [running] = await waitFor(() => {
        const found = node.runningOf(crashing.metadata.uid);
        assert.equal(found.length, 1);
        return found;
      }, 20_000);
      node.runtime.exit(running!.id, 1);
      await podIs("crashes", ({ status }) =>
        assert.ok((status?.containerStatuses?.[0]?.restartCount ?? 0) >= Math.min(restarts, 1)),
      );
    }
  });

  await t.test("pods and mirrors are deleted, gracefully and forcibly", async () => {
    await remove(`${inDefault}/pods/web`);
    await isGone(`${inDefault}/pods/web`);
    await remove(`${inDefault}/pods/bound`, { gracePeriodSeconds: 0 });
    await remove(`${inDefault}/pods/ends`);
    await isGone(`${inDefault}/pods/ends`);
    const { metadata } = await get<Pod>(mirror);
    await remove(mirror);
    await waitFor(async () => assert.notEqual((await get<Pod>(mirror)).metadata.uid, metadata.uid));
    await node.removeManifest("static");
    await isGone(mirror);
  });

  await t.test("the lease is renewed, and the node is changed, deleted and registered again", async () => {
    const renewal = async () => (await get<{ spec: { renewTime: string } }>(leasePath)).spec.renewTime;
    const first = await waitFor(renewal);
    await waitFor(async () => assert.notEqual(await renewal(), first));
    const contentType = "application/merge-patch+json";
    const body = { metadata: { labels: { mine: "yes" } }, spec: { unschedulable: true } };
    await admin.request({ method: "PATCH", path: nodePath, body, contentType });
    await addPod("after", { nodeName });
    await hasPhase("after", "Running");
    await waitFor(() =>
      assert.ok(served.some((r) => isNodes(r) && brief(r) === `200 patch ${nodePath}/status`)),
    );
    for (const isDeleted of [false, true]) {
      await node.stopAgent();
      if (isDeleted) await remove(nodePath);
      await node.startAgent({ config });
      await nodeIsReady();
    }
    await addPod("again", { nodeName });
    await hasPhase("again", "Running");
  });

  await t.test("the last pods are removed, with their volumes", async () => {
    const { items } = await get<{ items: Pod[] }>(`${inDefault}/pods`);
    assert.ok(items.length > 0);
    for (const { metadata } of items) await remove(`${inDefault}/pods/${metadata.name}`);
    for (const { metadata } of items) await isGone(`${inDefault}/pods/${metadata.name}`);
  });

  // parity: event Created, event Started, event Killing, event BackOff
  await t.test("events are created and updated", async () => {
    const items = await waitFor(async () => {
      const list = await get<{ items: { reason: string; count?: number }[] }>(`${inDefault}/events`);
      assert.ok(list.items.some(({ reason }) => reason === "BackOff"));
      return list.items;
    });
    const reasons = new Set(items.map(({ reason }) => reason));
    for (const reason of ["Created", "Started", "Killing", "BackOff", "NodeAffinity"])
      assert.ok(reasons.has(reason), `no event ${reason}: ${[...reasons].join()}`);
  });

  await t.test("no request was rejected", () => {
    const used = served.filter(isNodes);
    t.diagnostic(`${used.length} requests of the node`);
    assert.deepEqual(used.filter(isDenied).map(brief), []);
    assert.deepEqual(
      served.filter(({ caller, status }) => status === 401 || caller === undefined).map(brief),
      [],
    );
    const kinds = new Set(used.map(({ verb, path }) => `${isRead(verb) ? "read" : verb} ${kindOf(path)}`));
    for (const kind of mustUse) assert.ok(kinds.has(kind), `no ${kind}: ${[...kinds].join("; ")}`);
  });

  await t.test("forbidden requests with the same certificate are rejected", async () => {
    const asNode = await client("kubelet.kubeconfig", "kubelet/forbidden");
    const merge = { contentType: "application/merge-patch+json" };
    const foreign = { apiVersion: "v1", kind: "Pod", metadata: { name: "p" } };
    const forbidden: KubeRequest[] = [
      { method: "GET", path: `${inDefault}/secrets/nobodys` },
      { method: "GET", path: "/api/v1/secrets" },
      {
        method: "POST",
        path: `${inDefault}/configmaps`,
        body: { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "x" } },
      },
      {
        method: "POST",
        path: `${inDefault}/pods`,
        body: { ...foreign, spec: { nodeName, containers: [container()] } },
      },
      {
        method: "POST",
        path: "/api/v1/nodes",
        body: { apiVersion: "v1", kind: "Node", metadata: { name: "node-b" } },
      },
      {
        method: "PATCH",
        path: nodePath,
        body: { metadata: { labels: { "node-restriction.kubernetes.io/a": "b" } } },
        ...merge,
      },
      { method: "DELETE", path: `${inDefault}/configmaps/cm` },
      {
        method: "PUT",
        path: leasePath.replace(nodeName, "node-b"),
        body: { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: { name: "node-b" } },
      },
    ];
    for (const call of forbidden)
      await assert.rejects(asNode.request(call), { status: 403 }, `${call.method} ${call.path}`);
    assert.equal(served.filter((request) => isNodes(request) && isDenied(request)).length, forbidden.length);
  });
  await node.stopAgent();
});

/** "pods/status" of "/api/v1/namespaces/default/pods/web/status". */
function kindOf(path: string): string {
  const [resource = "", , subresource] = path
    .replace(/^\/(api\/v1|apis\/[^/]+\/[^/]+)\//, "")
    .replace(/^namespaces\/[^/]+\/(?=.)/, "")
    .split("/");
  return subresource ? `${resource}/${subresource}` : resource;
}

/** Objects may be read one by one, listed or watched. */
const isRead = (verb: string) => ["get", "list", "watch"].includes(verb);

/** Fails if a part of the lifecycle is no longer exercised here. */
const mustUse = [
  ...["create nodes", "read nodes", "patch nodes/status"],
  ...["read leases", "create leases", "update leases"],
  ...["read pods", "create pods", "delete pods", "patch pods/status"],
  ...["read secrets", "read configmaps", "read services", "read runtimeclasses"],
  ...["create events", "patch events"],
];
