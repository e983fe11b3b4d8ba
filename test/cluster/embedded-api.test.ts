import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "../../src/lib/model/pod.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { container, nodeName, TestCluster } from "./cluster-node.ts";
import { startEmbeddedApi } from "./embedded-api.ts";

test("the embedded API serves pods and mirrors of static pods, and forbids no request of the node", async (t) => {
  const { cluster, admin, rejected } = await startEmbeddedApi(t);
  const post = (path: string, kind: string, name: string, more: object = {}) =>
    admin.request({ method: "POST", path, body: { apiVersion: "v1", kind, metadata: { name }, ...more } });
  const inDefault = "/api/v1/namespaces/default";
  const get = <T>(path: string) => admin.request<T>({ method: "GET", path });
  const podIs = (name: string, phase: string) =>
    waitFor(async () => {
      const { status, metadata } = await get<Pod>(`${inDefault}/pods/${name}`);
      assert.equal(metadata.deletionTimestamp, undefined);
      assert.equal(status?.phase, phase, JSON.stringify(status));
    });
  for (const name of ["default", "kube-node-lease"]) await post("/api/v1/namespaces", "Namespace", name);
  await post(`${inDefault}/serviceaccounts`, "ServiceAccount", "default");
  await post(`${inDefault}/configmaps`, "ConfigMap", "cm", { data: { a: "1" } });
  for (const name of ["s", "pull"])
    await post(`${inDefault}/secrets`, "Secret", name, { data: { k: "YQ==" } });

  const node = await TestCluster.start(t, { cluster });
  await node.placeManifest("static");
  await node.startAgent();
  const mirror = `static-${nodeName}`;
  await podIs(mirror, "Running");
  await post(`${inDefault}/pods`, "Pod", "web", {
    spec: {
      nodeName,
      terminationGracePeriodSeconds: 3,
      imagePullSecrets: [{ name: "pull" }],
      containers: [
        container({
          envFrom: [{ configMapRef: { name: "cm" } }],
          env: [{ name: "S", valueFrom: { secretKeyRef: { name: "s", key: "k" } } }],
        }),
      ],
    },
  });
  await podIs("web", "Running");
  await admin.request({ method: "DELETE", path: `${inDefault}/pods/web` });
  await waitFor(() => assert.rejects(get(`${inDefault}/pods/web`), { status: 404 }));

  const { metadata } = await get<Pod>(`${inDefault}/pods/${mirror}`);
  await admin.request({ method: "DELETE", path: `${inDefault}/pods/${mirror}` });
  await waitFor(async () =>
    assert.notEqual((await get<Pod>(`${inDefault}/pods/${mirror}`)).metadata.uid, metadata.uid),
  );
  await podIs(mirror, "Running");
  await node.removeManifest("static");
  await waitFor(() => assert.rejects(get(`${inDefault}/pods/${mirror}`), { status: 404 }));
  await waitFor(async () => {
    const lease = await get<{ spec: { holderIdentity: string } }>(
      `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${nodeName}`,
    );
    assert.equal(lease.spec.holderIdentity, nodeName);
  });
  assert.deepEqual(rejected, []);
  await node.stopAgent();
});
