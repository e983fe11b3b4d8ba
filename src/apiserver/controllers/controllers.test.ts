import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, test } from "node:test";
import { epochMs } from "../../lib/base/time.ts";
import { builtIns } from "../kinds/built-ins.ts";
import { timestamp } from "./api-times.ts";
import { reconcileBuiltIns } from "./built-in-reconciler.ts";
import { type Cluster, rootCa, startCluster } from "./fixtures.ts";

const leases = "leases.coordination.k8s.io";

let cluster: Cluster;
beforeEach(async () => {
  cluster = await startCluster();
});
afterEach(() => cluster.stop());

async function addNode(ready: string): Promise<void> {
  const { objects, clock } = cluster;
  const heartbeat = timestamp(epochMs(clock.wall()));
  await objects.create("nodes", {
    metadata: { name: "n" },
    status: {
      allocatable: { cpu: "2", memory: "1Gi", pods: "110" },
      conditions: [
        { type: "Ready", status: ready, lastHeartbeatTime: heartbeat, lastTransitionTime: heartbeat },
      ],
    },
  });
}

async function setReady(status: string): Promise<void> {
  const { objects, clock } = cluster;
  await objects.change(
    { resource: "nodes", namespace: "", name: "n" },
    (draft) => {
      draft.status.conditions = [
        { type: "Ready", status, lastHeartbeatTime: timestamp(epochMs(clock.wall())) },
      ];
    },
    { subresource: "status" },
  );
}

async function addPod(name: string, namespace = "default", metadata: object = {}): Promise<void> {
  await cluster.objects.create("pods", {
    metadata: { name, namespace, ...metadata },
    spec: { containers: [{ name: "c", image: "busybox" }] },
  });
}

const isThere = async (resource: string, namespace: string, name: string) =>
  (await cluster.get(resource, namespace, name)) !== undefined;
const nodeOf = async (name: string) => (await cluster.get("pods", "default", name))?.spec.nodeName;
const taintsOf = async (name: string) =>
  ((await cluster.get("nodes", "", name))?.spec.taints ?? []).map(
    (taint: { key: string; effect: string }) => `${taint.key}:${taint.effect}`,
  );
async function messages(reason: string): Promise<string[]> {
  const events = await cluster.objects.list("events");
  return events.filter((event) => event.reason === reason).map(({ message }) => String(message));
}

describe("a new cluster", () => {
  test("has the built-in objects", async () => {
    const names = (await cluster.objects.list("namespaces")).map(({ metadata }) => metadata.name);
    assert.deepEqual(names, ["default", "kube-node-lease", "kube-public", "kube-system"]);
    const critical = await cluster.get("priorityclasses.scheduling.k8s.io", "", "system-node-critical");
    assert.equal(critical?.value, 2_000_001_000);
    assert.equal((await cluster.get("services", "default", "kubernetes"))?.spec.clusterIP, "10.96.0.1");
    const endpoints = await cluster.get("endpoints", "default", "kubernetes");
    assert.deepEqual(endpoints?.subsets[0].addresses, [{ ip: "10.0.0.1" }]);
  });

  test("updates the endpoints of the API when its address or port changes, and only then", async () => {
    const ref = { resource: "services", namespace: "default", name: "kubernetes" };
    const before = (await cluster.objects.get(ref))?.metadata.uid;
    const keep = async (serviceRange: string, servicePort: number) => {
      const at = { apiAddress: "10.0.0.1", apiPort: 6443, serviceRange, servicePort };
      await reconcileBuiltIns(builtIns(at), cluster.objects);
      const found = await cluster.get("services", "default", "kubernetes");
      return [found?.spec.clusterIP, found?.spec.ports[0].port, found?.metadata.uid === before];
    };
    assert.deepEqual(await keep("10.96.0.0/16", 443), ["10.96.0.1", 443, true]);
    assert.deepEqual(await keep("10.96.32.0/20", 443), ["10.96.32.1", 443, false]);
    assert.deepEqual(await keep("10.96.32.0/20", 8443), ["10.96.32.1", 8443, false]);
    assert.deepEqual(await keep("10.96.0.0/16", 443), ["10.96.0.1", 443, false]);
  });

  test("has a service account and the CA in each namespace, including new ones, and restores them", async () => {
    await cluster.objects.create("namespaces", { metadata: { name: "mine" } });
    for (const namespace of ["default", "mine"]) {
      await cluster.until("account", () => isThere("serviceaccounts", namespace, "default"));
      await cluster.until("authority", () => isThere("configmaps", namespace, "kube-root-ca.crt"));
    }
    const account = { resource: "serviceaccounts", namespace: "mine", name: "default" };
    const before = (await cluster.objects.get(account))?.metadata.uid;
    await cluster.objects.delete(account);
    await cluster.until("account is restored", async () => {
      const uid = (await cluster.objects.get(account))?.metadata.uid;
      return uid !== undefined && uid !== before;
    });
    const map = { resource: "configmaps", namespace: "mine", name: "kube-root-ca.crt" };
    await cluster.objects.change(map, (draft) => {
      draft.data = {};
    });
    await cluster.until("CA is restored", async () => {
      const found = await cluster.get("configmaps", "mine", "kube-root-ca.crt");
      return found?.data?.["ca.crt"] === rootCa;
    });
  });
});

describe("pods", () => {
  test("report in a condition that there is no node, and are bound when there is one", async () => {
    await cluster.until("account", () => isThere("serviceaccounts", "default", "default"));
    await addPod("p");
    const reasonOf = async () => {
      const conditions = (await cluster.get("pods", "default", "p"))?.status.conditions ?? [];
      const found = conditions.find(({ type }: { type: string }) => type === "PodScheduled");
      return [found?.status, found?.reason, found?.message].join(" ");
    };
    const none = "False Unschedulable no nodes available to schedule pods";
    await cluster.until("no node", async () => (await reasonOf()) === none);

    await addNode("False");
    const tainted =
      "False Unschedulable 0/1 nodes are available: 1 node(s) had untolerated taint {node.kubernetes.io/not-ready: }. preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.";
    await cluster.until("node not ready", async () => (await reasonOf()) === tainted);
    assert.equal((await messages("FailedScheduling")).length, 2);

    await setReady("True");
    await cluster.until("bound", async () => (await nodeOf("p")) === "n");
    assert.equal(await reasonOf(), "True  ");
    await cluster.until("reported", async () => (await messages("Scheduled")).length === 1);
    assert.deepEqual(await messages("Scheduled"), ["Successfully assigned default/p to n"]);
  });

  test("pods of a deleted node are removed after the quarantine, its lease immediately", async () => {
    await cluster.until("account", () => isThere("serviceaccounts", "default", "default"));
    await addNode("True");
    const { uid } = (await cluster.get("nodes", "", "n"))!.metadata;
    await cluster.objects.create(leases, {
      metadata: {
        name: "n",
        namespace: "kube-node-lease",
        ownerReferences: [{ apiVersion: "v1", kind: "Node", name: "n", uid }],
      },
      spec: { renewTime: "2026-01-01T00:00:00.000000Z" },
    });
    await addPod("p");
    await cluster.until("bound", async () => (await nodeOf("p")) === "n");
    await cluster.objects.delete({ resource: "nodes", namespace: "", name: "n" });
    await cluster.until("lease gone", async () => !(await isThere(leases, "kube-node-lease", "n")));
    await cluster.clock.advance(39_000);
    assert.ok(await isThere("pods", "default", "p"));
    await cluster.until("pod gone", async () => !(await isThere("pods", "default", "p")));
  });
});

describe("nodes", () => {
  test("nodes that stop reporting become Unknown, and Ready when they report again", async () => {
    await addNode("True");
    await cluster.until("no taints", async () => (await taintsOf("n")).length === 0);
    await cluster.clock.advance(49_000);
    assert.deepEqual(await taintsOf("n"), []);
    await cluster.until("taints", async () => (await taintsOf("n")).length === 2);
    const key = "node.kubernetes.io/unreachable";
    assert.deepEqual(await taintsOf("n"), [`${key}:NoSchedule`, `${key}:NoExecute`]);
    const condition = (await cluster.get("nodes", "", "n"))?.status.conditions[0];
    assert.deepEqual(
      [condition.status, condition.reason, condition.message],
      ["Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status."],
    );
    await setReady("True");
    await cluster.until("no taints again", async () => (await taintsOf("n")).length === 0);
  });

  test("stay Ready while their lease is renewed", async () => {
    await addNode("True");
    const lease = { resource: leases, namespace: "kube-node-lease", name: "n" };
    const renewTime = () => new Date(epochMs(cluster.clock.wall())).toISOString().replace("Z", "000Z");
    await cluster.objects.create(leases, {
      metadata: { name: "n", namespace: "kube-node-lease" },
      spec: { renewTime: renewTime() },
    });
    for (let i = 0; i < 8; i++) {
      await cluster.clock.advance(10_000);
      await cluster.objects.change(lease, (draft) => {
        draft.spec.renewTime = renewTime();
      });
    }
    assert.deepEqual(await taintsOf("n"), []);
    await cluster.until("taints", async () => (await taintsOf("n")).length === 2, 60_000);
  });

  test("cordoned nodes are tainted", async () => {
    await addNode("True");
    const cordon = (unschedulable: boolean) =>
      cluster.objects.change({ resource: "nodes", namespace: "", name: "n" }, (draft) => {
        draft.spec.unschedulable = unschedulable;
      });
    await cordon(true);
    await cluster.until("cordoned", async () =>
      (await taintsOf("n")).includes("node.kubernetes.io/unschedulable:NoSchedule"),
    );
    await cordon(false);
    await cluster.until("free", async () => (await taintsOf("n")).length === 0);
  });
});

describe("namespaces that are deleted", () => {
  test("are emptied, pods first and gracefully, and then removed", async () => {
    const { objects } = cluster;
    await addNode("True");
    await objects.create("namespaces", { metadata: { name: "mine" } });
    await cluster.until("account", () => isThere("serviceaccounts", "mine", "default"));
    await objects.create("configmaps", { metadata: { name: "m", namespace: "mine" } });
    await addPod("p", "mine");
    await cluster.until("bound", async () => (await cluster.get("pods", "mine", "p"))?.spec.nodeName === "n");
    await objects.delete({ resource: "namespaces", namespace: "", name: "mine" });
    await cluster.until("pod is terminating", async () => {
      return (await cluster.get("pods", "mine", "p"))?.metadata.deletionTimestamp !== undefined;
    });
    await cluster.clock.advance(2_000);
    const { status } = (await cluster.get("namespaces", "", "mine"))!;
    assert.equal(status.phase, "Terminating");
    const remaining = status.conditions.find(
      ({ type }: { type: string }) => type === "NamespaceContentRemaining",
    );
    assert.equal(remaining.message, "Some resources are remaining: pods. has 1 resource instances");
    assert.ok(await isThere("configmaps", "mine", "m"), "pods may still need it");

    // As the kubelet does when all of its containers have terminated.
    await objects.delete({ resource: "pods", namespace: "mine", name: "p" }, { gracePeriodSeconds: 0 });
    await cluster.until("namespace gone", async () => !(await isThere("namespaces", "", "mine")));
    for (const resource of ["configmaps", "serviceaccounts", "events"])
      assert.deepEqual(await objects.list(resource, "mine"), []);
  });

  test("wait for finalizers, and report them", async () => {
    const { objects } = cluster;
    await objects.create("namespaces", { metadata: { name: "mine" } });
    await objects.create("configmaps", {
      metadata: { name: "m", namespace: "mine", finalizers: ["x.io/wait"] },
    });
    await objects.delete({ resource: "namespaces", namespace: "", name: "mine" });
    await cluster.until("reported", async () => {
      const conditions = (await cluster.get("namespaces", "", "mine"))?.status.conditions ?? [];
      return conditions.some(
        ({ message }: { message: string }) =>
          message ===
          "Some content in the namespace has finalizers remaining: x.io/wait in 1 resource instances",
      );
    });
    await objects.change({ resource: "configmaps", namespace: "mine", name: "m" }, ({ metadata }) => {
      metadata.finalizers = [];
    });
    await cluster.until("gone", async () => !(await isThere("namespaces", "", "mine")));
  });
});

test("owners deleted in the foreground are removed after their dependents", async () => {
  const { objects } = cluster;
  await cluster.until("account", () => isThere("serviceaccounts", "default", "default"));
  const owner = await objects.create("configmaps", {
    metadata: { name: "owner", namespace: "default", finalizers: ["foregroundDeletion"] },
  });
  const reference = {
    apiVersion: "v1",
    kind: "ConfigMap",
    name: "owner",
    uid: owner.metadata.uid,
    blockOwnerDeletion: true,
  };
  await objects.create("secrets", {
    metadata: { name: "dependent", namespace: "default", ownerReferences: [reference] },
  });
  await objects.delete({ resource: "configmaps", namespace: "default", name: "owner" });
  await cluster.until("both gone", async () => {
    return (
      !(await isThere("configmaps", "default", "owner")) &&
      !(await isThere("secrets", "default", "dependent"))
    );
  });
});

test("events expire an hour after they were last reported", async () => {
  const { objects, clock } = cluster;
  const event = (name: string) => ({
    metadata: { name, namespace: "default" },
    involvedObject: { namespace: "default" },
    lastTimestamp: timestamp(epochMs(clock.wall())),
  });
  await objects.create("events", event("old"));
  await objects.create("events", event("again"));
  await clock.advance(1_800_000);
  await objects.change({ resource: "events", namespace: "default", name: "again" }, (draft) => {
    draft.lastTimestamp = timestamp(epochMs(clock.wall()));
  });
  await cluster.until("old gone", async () => !(await isThere("events", "default", "old")), 1_900_000);
  assert.ok(epochMs(clock.wall()) >= Date.UTC(2026, 0, 1, 1));
  assert.ok(await isThere("events", "default", "again"));
});

test("a PVC is bound to a PV, which is Released when the PVC is deleted", async () => {
  const { objects } = cluster;
  const mode = { accessModes: ["ReadWriteOnce"] };
  await objects.create("persistentvolumes", {
    metadata: { name: "v" },
    spec: { ...mode, capacity: { storage: "2Gi" }, hostPath: { path: "/data" } },
  });
  await objects.create("persistentvolumeclaims", {
    metadata: { name: "c", namespace: "default" },
    spec: { ...mode, resources: { requests: { storage: "1Gi" } } },
  });
  const phases = async () => [
    (await cluster.get("persistentvolumeclaims", "default", "c"))?.status.phase,
    (await cluster.get("persistentvolumes", "", "v"))?.status.phase,
  ];
  await cluster.until("bound", async () => (await phases()).join() === "Bound,Bound");
  const claim = (await cluster.get("persistentvolumeclaims", "default", "c"))!;
  assert.equal(claim.spec.volumeName, "v");
  assert.deepEqual(claim.status.capacity, { storage: "2Gi" });
  assert.equal((await cluster.get("persistentvolumes", "", "v"))?.spec.claimRef.uid, claim.metadata.uid);

  await cluster.until("account", () => isThere("serviceaccounts", "default", "default"));
  await objects.create("pods", {
    metadata: { name: "p", namespace: "default" },
    spec: {
      containers: [{ name: "c", image: "busybox" }],
      volumes: [{ name: "v", persistentVolumeClaim: { claimName: "c" } }],
    },
  });
  await objects.delete({ resource: "persistentvolumeclaims", namespace: "default", name: "c" });
  await cluster.clock.advance(5_000);
  assert.ok(await isThere("persistentvolumeclaims", "default", "c"), "a pod uses it");
  await objects.delete({ resource: "pods", namespace: "default", name: "p" });
  await cluster.until("released", async () => (await phases())[1] === "Released");
});
