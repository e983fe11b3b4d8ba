import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "../../../lib/base/fake-clock.ts";
import { silentLogger } from "../../../lib/base/logger.ts";
import type { Attributes } from "../../access.ts";
import type { Caller } from "../../definition.ts";
import { admin, attributesOf, eventually, MemoryObjects, node } from "../fixtures.ts";
import { anonymous } from "../names.ts";
import { FixedAuthorizer } from "./authorizer.ts";
import { NodeGraphPopulator } from "./node-graph-populator.ts";

const pod = (name: string, nodeName: string, spec: object = {}, metadata: object = {}) => ({
  metadata: { namespace: "ns", name, ...metadata },
  spec: { nodeName, containers: [], ...spec },
});

function cluster() {
  const objects = new MemoryObjects();
  objects.put(
    "pods",
    pod("mine", "n1", {
      serviceAccountName: "builder",
      imagePullSecrets: [{ name: "pull" }],
      initContainers: [{ name: "i", envFrom: [{ secretRef: { name: "env-from" } }] }],
      containers: [
        {
          name: "c",
          env: [
            { name: "A", valueFrom: { secretKeyRef: { name: "env", key: "k" } } },
            { name: "B", valueFrom: { configMapKeyRef: { name: "env-map", key: "k" } } },
          ],
          envFrom: [{ configMapRef: { name: "from-map" } }],
        },
      ],
      ephemeralContainers: [{ name: "e", envFrom: [{ secretRef: { name: "debug" } }] }],
      volumes: [
        { name: "v1", secret: { secretName: "volume" } },
        {
          name: "v2",
          projected: { sources: [{ secret: { name: "projected" } }, { configMap: { name: "ca" } }] },
        },
        { name: "v3", persistentVolumeClaim: { claimName: "claim" } },
        { name: "v4", ephemeral: { volumeClaimTemplate: { spec: {} } } },
        { name: "v5", cephfs: { monitors: [], secretRef: { name: "ceph" } } },
      ],
    }),
  );
  objects.put("pods", pod("other", "n2", { imagePullSecrets: [{ name: "theirs" }] }));
  objects.put("pods", pod("pending", "", { imagePullSecrets: [{ name: "unscheduled" }] }));
  objects.put(
    "pods",
    pod(
      "mirror",
      "n1",
      { imagePullSecrets: [{ name: "stolen" }] },
      { annotations: { "kubernetes.io/config.mirror": "x" } },
    ),
  );
  const volume = (name: string, spec: object) => ({ metadata: { name }, spec });
  const csi = (name: string) => ({ name, namespace: "storage" });
  objects.put(
    "persistentvolumes",
    volume("pv", {
      claimRef: { namespace: "ns", name: "claim" },
      csi: {
        driver: "d",
        nodePublishSecretRef: csi("publish"),
        nodeStageSecretRef: csi("stage"),
        controllerPublishSecretRef: csi("controller"),
      },
    }),
  );
  objects.put("persistentvolumes", volume("free", { csi: { driver: "d" } }));
  objects.put("persistentvolumes", volume("theirs", { claimRef: { namespace: "ns", name: "elsewhere" } }));
  objects.put("pods", pod("claiming", "n1", { resourceClaims: [{ name: "c", resourceClaimName: "gpu" }] }));
  objects.put("resourceslices.resource.k8s.io", volume("sa", { nodeName: "n1" }));
  objects.put("resourceslices.resource.k8s.io", volume("sb", { nodeName: "n2" }));
  objects.put("volumeattachments.storage.k8s.io", volume("va", { nodeName: "n1" }));
  objects.put("volumeattachments.storage.k8s.io", volume("vb", { nodeName: "n2" }));
  return objects;
}

function authorizerOf(objects: MemoryObjects) {
  const graph = new NodeGraphPopulator({
    objects: () => objects,
    clock: new FakeClock(),
    logger: silentLogger,
  });
  return { graph, authorizer: new FixedAuthorizer({ relations: graph }) };
}

const account: Caller = {
  name: "system:serviceaccount:ns:builder",
  groups: ["system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated"],
};
const bootstrapper: Caller = {
  name: "system:bootstrap:abcdef",
  groups: ["system:bootstrappers", "system:authenticated"],
};
const user: Caller = { name: "jane", groups: ["system:authenticated"] };
const nameless: Caller = { name: "system:node:", groups: ["system:nodes"] };

const none = "no relationship found between node 'n1' and this object";
const csr = "certificatesigningrequests.certificates.k8s.io";
const lease = "leases.coordination.k8s.io";

/** true if allowed, otherwise the reason for the denial ("" for none). */
const rows: [Caller, string, true | string, Partial<Attributes>?][] = [
  [admin, "delete nodes /n1", true],
  [admin, "post /anything", true],

  [node("n1"), "get secrets ns/pull", true],
  [node("n1"), "list secrets ns/env", true],
  [node("n1"), "watch secrets ns/env-from", true],
  [node("n1"), "get secrets ns/debug", true],
  [node("n1"), "get secrets ns/volume", true],
  [node("n1"), "get secrets ns/projected", true],
  [node("n1"), "get secrets ns/ceph", true],
  [node("n1"), "get secrets storage/publish", true],
  [node("n1"), "get secrets storage/stage", true],
  [node("n1"), "get secrets storage/controller", none],
  [node("n1"), "get secrets ns/theirs", none],
  [node("n1"), "get secrets ns/unscheduled", none],
  [node("n1"), "get secrets ns/stolen", none],
  [node("n1"), "get secrets other/pull", none],
  [node("n2"), "get secrets ns/theirs", true],
  [node("n1"), "update secrets ns/pull", "can only read resources of this type"],
  [node("n1"), "get secrets/status ns/pull", "cannot read subresource"],
  [node("n1"), "list secrets", "can only read namespaced object of this type"],
  [node("n1"), "list secrets ns", "No Object name found"],
  [node("n1"), "get configmaps ns/env-map", true],
  [node("n1"), "watch configmaps ns/from-map", true],
  [node("n1"), "get configmaps ns/ca", true],
  [node("n1"), "get configmaps ns/other", none],

  [node("n1"), "get persistentvolumeclaims ns/claim", true],
  [node("n1"), "get persistentvolumeclaims ns/mine-v4", true],
  [node("n1"), "get persistentvolumeclaims ns/elsewhere", none],
  [node("n1"), "list persistentvolumeclaims ns", "can only get individual resources of this type"],
  [node("n1"), "patch persistentvolumeclaims/status ns/claim", true],
  [node("n1"), "patch persistentvolumeclaims/status ns/elsewhere", none],
  [node("n1"), "get persistentvolumeclaims/status ns/claim", "can only get/update/patch this type"],
  [node("n1"), "get persistentvolumes /pv", true],
  [node("n1"), "get persistentvolumes /free", none],
  [node("n1"), "get persistentvolumes /theirs", none],
  [node("n1"), "get volumeattachments.storage.k8s.io /va", true],
  [node("n1"), "get volumeattachments.storage.k8s.io /vb", none],
  [node("n1"), "get resourceclaims.resource.k8s.io ns/gpu", true],
  [node("n1"), "get resourceclaims.resource.k8s.io ns/other", none],
  [node("n1"), "list resourceclaims.resource.k8s.io ns", "can only get individual resources of this type"],
  [node("n1"), "create resourceslices.resource.k8s.io", true],
  [node("n1"), "delete resourceslices.resource.k8s.io /sa", true],
  [node("n1"), "delete resourceslices.resource.k8s.io /sb", none],
  [
    node("n1"),
    "deletecollection resourceslices.resource.k8s.io",
    true,
    { fieldSelector: "spec.nodeName=n1,spec.driver=d" },
  ],
  [
    node("n1"),
    "deletecollection resourceslices.resource.k8s.io",
    "can only list/watch/deletecollection resourceslices with nodeName field selector",
    { fieldSelector: "spec.driver=d" },
  ],
  [
    node("n1"),
    "watch volumeattachments.storage.k8s.io /va",
    "can only get individual resources of this type",
  ],

  [node("n1"), "create serviceaccounts/token ns/builder", true],
  [node("n1"), "create serviceaccounts/token ns/default", none],
  [node("n1"), "get serviceaccounts ns/builder", true],
  [node("n1"), "get serviceaccounts ns/default", none],
  [node("n1"), "list serviceaccounts ns", "can only create tokens for individual service accounts"],
  [node("n1"), "create serviceaccounts/x ns/builder", "can only create token subresource of serviceaccount"],

  [node("n1"), `create ${lease} kube-node-lease`, true],
  [node("n1"), `update ${lease} kube-node-lease/n1`, true],
  [
    node("n1"),
    `update ${lease} kube-node-lease/n2`,
    "can only access node lease with the same name as the requesting node",
  ],
  [node("n1"), `get ${lease} ns/n1`, 'can only access leases in the "kube-node-lease" system namespace'],
  [
    node("n1"),
    `list ${lease} kube-node-lease`,
    "can only get, create, update, patch, or delete a node lease",
  ],
  [node("n1"), "create csinodes.storage.k8s.io", true],
  [node("n1"), "get csinodes.storage.k8s.io /n1", true],
  [
    node("n1"),
    "get csinodes.storage.k8s.io /n2",
    "can only access CSINode with the same name as the requesting node",
  ],
  [node("n1"), "list csinodes.storage.k8s.io", "can only get, create, update, patch, or delete a CSINode"],

  [node("n1"), "create nodes", true],
  [node("n1"), "patch nodes /n1", true],
  [node("n1"), "patch nodes/status /n1", true],
  [node("n1"), "get nodes /n1", true],
  [node("n1"), "watch nodes /n1", true],
  [node("n1"), "get nodes /n2", "node 'n1' cannot read 'n2', only its own Node object"],
  [node("n1"), "list nodes", "node 'n1' cannot read all nodes, only its own Node object"],
  [node("n1"), "delete nodes /n1", ""],
  [node("n1"), "get nodes/proxy /n1", ""],

  [node("n1"), "get pods ns/mine", true],
  [node("n1"), "get pods ns/other", none],
  [node("n1"), "watch pods ns/mine", true],
  [node("n1"), "list pods", true, { fieldSelector: "spec.nodeName=n1" }],
  [node("n1"), "watch pods", true, { fieldSelector: "status.phase!=Failed,spec.nodeName=n1" }],
  [
    node("n1"),
    "list pods",
    "can only list/watch pods with spec.nodeName field selector",
    { fieldSelector: "spec.nodeName=n2" },
  ],
  [
    node("n1"),
    "list pods",
    "can only list/watch pods with spec.nodeName field selector",
    { fieldSelector: "spec.nodeName!=n1" },
  ],
  [node("n1"), "list pods", "can only list/watch pods with spec.nodeName field selector"],
  [node("n1"), "create pods ns", true],
  [node("n1"), "delete pods ns/mine", true],
  [node("n1"), "patch pods/status ns/mine", true],
  [node("n1"), "create pods/eviction ns/mine", true],
  [node("n1"), "update pods ns/mine", ""],
  [node("n1"), "get pods/log ns/mine", ""],

  [node("n1"), `create ${csr}`, true],
  [node("n1"), `watch ${csr}`, true],
  [node("n1"), `update ${csr}/approval /x`, ""],
  [node("n1"), `create ${csr}/selfnodeclient`, true],
  [node("n1"), `create ${csr}/nodeclient`, ""],
  [node("n1"), "create events ns", true],
  [node("n1"), "patch events.events.k8s.io ns/e", true],
  [node("n1"), "list events ns", ""],
  [node("n1"), "list services", true],
  [node("n1"), "watch runtimeclasses.node.k8s.io", true],
  [node("n1"), "watch csidrivers.storage.k8s.io", true],
  [node("n1"), "create tokenreviews.authentication.k8s.io", true],
  [node("n1"), "create subjectaccessreviews.authorization.k8s.io", true],
  [node("n1"), "create selfsubjectreviews.authentication.k8s.io", true],
  [node("n1"), "list namespaces", ""],
  [node("n1"), "get /apis/apps/v1", true],
  [node("n1"), "get /metrics", ""],
  [nameless, "get nodes /n1", 'unknown node for user "system:node:"'],
  [{ name: "system:node:n1", groups: ["system:authenticated"] }, "get nodes /n1", ""],

  [bootstrapper, `create ${csr}`, true],
  [bootstrapper, `watch ${csr}`, true],
  [bootstrapper, `create ${csr}/nodeclient`, true],
  [bootstrapper, `create ${csr}/selfnodeclient`, ""],
  [bootstrapper, `update ${csr}/approval /x`, ""],
  [bootstrapper, "get nodes /n1", ""],

  [account, "get pods ns/mine", true],
  [account, "watch configmaps ns", true],
  [account, "list services ns", true],
  [account, "get secrets ns/pull", ""],
  [account, "delete pods ns/mine", ""],
  [account, "create pods/exec ns/mine", ""],
  [account, "get pods other/x", ""],
  [account, "list pods", ""],
  [account, "get /openid/v1/jwks", true],
  [account, "get /api", true],
  [account, "list clustertrustbundles.certificates.k8s.io", true],
  [node("n1"), "watch clustertrustbundles.certificates.k8s.io", true],
  [node("n1"), "create podcertificaterequests.certificates.k8s.io ns", true],
  [
    node("n1"),
    "watch podcertificaterequests.certificates.k8s.io",
    true,
    { fieldSelector: "spec.nodeName=n1" },
  ],
  [
    node("n1"),
    "list podcertificaterequests.certificates.k8s.io",
    "can only list/watch podcertificaterequests with nodeName field selector",
  ],
  [
    node("n1"),
    "update podcertificaterequests.certificates.k8s.io/status ns/x",
    "nodes may not access the status subresource of PodCertificateRequests",
  ],
  [
    node("n1"),
    "delete podcertificaterequests.certificates.k8s.io ns/x",
    "nodes may not delete podcertificaterequests",
  ],
  [{ ...account, groups: ["system:authenticated"] }, "get pods ns/mine", ""],

  [user, "get /apis", true],
  [user, "get /openapi/v3", true],
  [user, "create selfsubjectaccessreviews.authorization.k8s.io", true],
  [user, "create subjectaccessreviews.authorization.k8s.io", ""],
  [user, "list pods ns", ""],
  [anonymous, "get /healthz", true],
  [anonymous, "get /version", true],
  [anonymous, "get /healthz/etcd", ""],
  [anonymous, "get /api", ""],
  [anonymous, "create selfsubjectreviews.authentication.k8s.io", ""],
];

test("each group is allowed what the policy grants", async (t) => {
  const { authorizer } = authorizerOf(cluster());
  for (const [caller, what, expected, more] of rows)
    await t.test(
      `${caller.name} ${expected === true ? "may" : "may not"} ${what} ${more?.fieldSelector ?? ""}`,
      async () => {
        const { allowed, reason = "" } = await authorizer.allows(caller, attributesOf(what, more));
        assert.deepEqual(allowed ? true : reason, expected);
      },
    );
});

test("the node graph follows the objects, and deleted objects grant nothing", async () => {
  const objects = cluster();
  const { graph, authorizer } = authorizerOf(objects);
  const stop = new AbortController();
  await graph.start(stop.signal);
  const may = async (name: string) =>
    (await authorizer.allows(node("n1"), attributesOf(`get secrets ns/${name}`))).allowed;
  assert.equal(await may("late"), false);
  objects.put("pods", pod("late", "n1", { imagePullSecrets: [{ name: "late" }] }));
  // Immediately, since a node may send requests before the graph contains the pod.
  assert.equal(await may("late"), true);
  await objects.delete({ resource: "pods", namespace: "ns", name: "late" });
  await eventually("the relation is removed", async () => ((await may("late")) ? undefined : true));
  assert.equal(await may("pull"), true);
  stop.abort();
  await graph.done;
});

test("a secret that two pods use remains readable until both are deleted", async () => {
  const objects = cluster();
  objects.put("pods", pod("second", "n1", { imagePullSecrets: [{ name: "pull" }] }));
  const { graph, authorizer } = authorizerOf(objects);
  const stop = new AbortController();
  await graph.start(stop.signal);
  await objects.delete({ resource: "pods", namespace: "ns", name: "mine" });
  const { allowed } = await authorizer.allows(node("n1"), attributesOf("get secrets ns/pull"));
  assert.equal(allowed, true);
  stop.abort();
  await graph.done;
});
