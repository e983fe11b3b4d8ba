import assert from "node:assert/strict";
import { test } from "node:test";
import { generateKey, makeRequest } from "../../../lib/base/x509/x509.ts";
import type { AdmissionRequest } from "../../access.ts";
import type { Unstructured } from "../../definition.ts";
import { StatusError } from "../../status-error.ts";
import type { ApiObject } from "../../storage/object.ts";
import { kubeletClientSigner, kubeletServingSigner } from "../csr/signers.ts";
import { admin, MemoryObjects, node } from "../fixtures.ts";
import { admissionChain, certificateSubjectRestriction } from "./certificate-subject-restriction.ts";
import { NodeRestriction } from "./node-restriction.ts";

const objects = new MemoryObjects();
objects.put("nodes", { metadata: { name: "n1", uid: "node-uid" } });
objects.put("serviceaccounts", { metadata: { namespace: "ns", name: "default", uid: "account-uid" } });
const tokenVolume = (audience?: string) => ({
  name: "t",
  projected: { sources: [{ serviceAccountToken: { path: "t", ...(audience && { audience }) } }] },
});
const podOn = (name: string, nodeName: string, spec: object = {}) =>
  objects.put("pods", {
    metadata: { namespace: "ns", name, uid: `${name}-uid` },
    spec: { nodeName, serviceAccountName: "default", ...spec },
  });
podOn("mine", "n1", { volumes: [tokenVolume(), tokenVolume("vault")] });
podOn("theirs", "n2", { volumes: [tokenVolume()] });
podOn("csi", "n1", { volumes: [{ name: "v", csi: { driver: "driver" } }] });
podOn("claim", "n1", { volumes: [{ name: "v", persistentVolumeClaim: { claimName: "c" } }] });
podOn("lost", "n1", { volumes: [{ name: "v", persistentVolumeClaim: { claimName: "gone" } }] });
objects.put("persistentvolumeclaims", {
  metadata: { namespace: "ns", name: "c" },
  spec: { volumeName: "pv" },
});
objects.put("persistentvolumes", { metadata: { name: "pv" }, spec: { csi: { driver: "driver" } } });
objects.put("csidrivers.storage.k8s.io", {
  metadata: { name: "driver" },
  spec: { tokenRequests: [{ audience: "sts" }] },
});

const admission = admissionChain(
  new NodeRestriction({ objects: () => objects }),
  certificateSubjectRestriction,
);

type Request = Partial<Omit<AdmissionRequest, "object" | "oldObject">> & {
  object?: unknown;
  oldObject?: unknown;
};

function request(o: Request): AdmissionRequest {
  return {
    caller: node("n1"),
    operation: "CREATE",
    group: "",
    resource: "pods",
    subresource: "",
    namespace: "ns",
    name: "",
    dryRun: false,
    ...o,
    object: o.object as Unstructured,
    oldObject: o.oldObject as ApiObject,
  };
}

const owner = { apiVersion: "v1", kind: "Node", name: "n1", uid: "node-uid", controller: true };
function mirror(spec: object = {}, metadata: object = {}): Request {
  return {
    name: "m",
    object: {
      metadata: {
        name: "m",
        annotations: { "kubernetes.io/config.mirror": "hash" },
        ownerReferences: [owner],
        ...metadata,
      },
      spec: { nodeName: "n1", containers: [], ...spec },
    },
  };
}
const withVolume = (volume: object) => mirror({ volumes: [{ name: "v", ...volume }] });
const withEnv = (valueFrom: object) =>
  mirror({ containers: [{ name: "c", env: [{ name: "E", valueFrom }] }] });

function nodeWrite(
  operation: "CREATE" | "UPDATE",
  object: object,
  oldObject?: object,
  subresource = "",
): Request {
  const shaped = (part: { labels?: object; ownerReferences?: object[]; spec?: object }) => ({
    metadata: { name: "n1", labels: part.labels, ownerReferences: part.ownerReferences },
    spec: part.spec,
  });
  return {
    operation,
    resource: "nodes",
    namespace: "",
    name: "n1",
    subresource,
    object: shaped(object),
    oldObject: oldObject && shaped(oldObject),
  };
}

function status(object: object, oldObject: object = object): Request {
  const pod = (part: object) => ({
    metadata: { name: "mine", labels: { a: "b" } },
    spec: { nodeName: "n1" },
    ...part,
  });
  return {
    operation: "UPDATE",
    subresource: "status",
    name: "mine",
    object: pod(object),
    oldObject: pod(oldObject),
  };
}

function token(spec: object): Request {
  return {
    resource: "serviceaccounts",
    subresource: "token",
    name: "default",
    object: { metadata: {}, spec },
  };
}
function podCertificate(spec: object): Request {
  return {
    group: "certificates.k8s.io",
    resource: "podcertificaterequests",
    object: {
      metadata: { name: "r", namespace: "ns" },
      spec: {
        nodeName: "n1",
        nodeUID: "node-uid",
        podName: "mine",
        podUID: "mine-uid",
        serviceAccountName: "default",
        serviceAccountUID: "account-uid",
        ...spec,
      },
    },
  };
}
const certificateForbidden = (why: string) =>
  `podcertificaterequests.certificates.k8s.io "r" is forbidden: ${why}`;
const bound = (name: string, more: object = {}) => ({
  boundObjectRef: { apiVersion: "v1", kind: "Pod", name, uid: `${name}-uid`, ...more },
});

function claim(object: object, oldObject: object): Request {
  const whole = (part: object) => ({
    metadata: { name: "c", labels: { a: "b" } },
    spec: { volumeName: "pv" },
    ...part,
  });
  return {
    operation: "UPDATE",
    resource: "persistentvolumeclaims",
    subresource: "status",
    name: "c",
    object: whole(object),
    oldObject: whole(oldObject),
  };
}

function lease(
  operation: "CREATE" | "UPDATE" | "DELETE",
  name: string,
  namespace = "kube-node-lease",
): Request {
  const object = operation === "DELETE" ? {} : { object: { metadata: { name } } };
  return { operation, group: "coordination.k8s.io", resource: "leases", namespace, name, ...object };
}

const key = generateKey().privateKey;
function csr(signerName: string, commonName: string, organizations = ["system:nodes"]): Request {
  const pem = makeRequest({ subject: { commonName, organizations }, key });
  return {
    group: "certificates.k8s.io",
    resource: "certificatesigningrequests",
    namespace: "",
    name: "r",
    object: { metadata: { name: "r" }, spec: { signerName, request: Buffer.from(pem).toString("base64") } },
  };
}

const m = 'pods "m" is forbidden: ';
const ownPods = 'node "n1" can only create pods with an owner reference set to itself';
const refs = 'node "n1" can not create pods that reference ';
const t = 'serviceaccounts "default" is forbidden: ';

/** The request, and the message if it is rejected. */
const rows: [string, Request, string?][] = [
  ["any request of another user", { caller: admin, object: { metadata: {} } }],
  [
    "a node user without a node name",
    { caller: { name: "system:node:", groups: ["system:nodes"] }, name: "x" },
    'pods "x" is forbidden: could not determine node from user "system:node:"',
  ],

  ["a mirror pod", mirror()],
  [
    "a pod that is not a mirror pod",
    mirror({}, { annotations: {} }),
    `${m}pod does not have "kubernetes.io/config.mirror" annotation, node "n1" can only create mirror pods`,
  ],
  [
    "a mirror pod with another node's name in spec.nodeName",
    mirror({ nodeName: "n2" }),
    `${m}node "n1" can only create pods with spec.nodeName set to itself`,
  ],
  ["a mirror pod without an owner reference", mirror({}, { ownerReferences: [] }), m + ownPods],
  [
    "a mirror pod owned by another node",
    mirror({}, { ownerReferences: [{ ...owner, name: "n2" }] }),
    m + ownPods,
  ],
  [
    "a mirror pod whose owner is not a Node",
    mirror({}, { ownerReferences: [{ ...owner, kind: "Pod" }] }),
    m + ownPods,
  ],
  [
    "a mirror pod with two owner references",
    mirror({}, { ownerReferences: [owner, owner] }),
    `${m}node "n1" can only create pods with a single owner reference set to itself`,
  ],
  [
    "a mirror pod whose owner is not its controller",
    mirror({}, { ownerReferences: [{ ...owner, controller: false }] }),
    `${m}node "n1" can only create pods with a controller owner reference set to itself`,
  ],
  [
    "a mirror pod with blockOwnerDeletion",
    mirror({}, { ownerReferences: [{ ...owner, blockOwnerDeletion: true }] }),
    `${m}node "n1" must not set blockOwnerDeletion on an owner reference`,
  ],
  [
    "a mirror pod whose owner has a different UID than the node",
    mirror({}, { ownerReferences: [{ ...owner, uid: "old" }] }),
    `${m}node n1 UID mismatch: expected old got node-uid`,
  ],
  [
    "a mirror pod of a node that does not exist",
    {
      ...mirror({ nodeName: "n3" }, { ownerReferences: [{ ...owner, name: "n3" }] }),
      caller: node("n3"),
    },
    'nodes "n3" not found',
  ],
  ["a mirror pod with a hostPath volume", withVolume({ hostPath: { path: "/" } })],
  [
    "a mirror pod with a projected downwardAPI volume",
    withVolume({ projected: { sources: [{ downwardAPI: {} }] } }),
  ],
  ["a mirror pod with a service account", mirror({ serviceAccountName: "x" }), `${m}${refs}serviceaccounts`],
  [
    "a mirror pod with an image pull secret",
    mirror({ imagePullSecrets: [{ name: "x" }] }),
    `${m}${refs}secrets`,
  ],
  [
    "a mirror pod with a Secret in env",
    withEnv({ secretKeyRef: { name: "x", key: "k" } }),
    `${m}${refs}secrets`,
  ],
  [
    "a mirror pod with a ConfigMap in env",
    withEnv({ configMapKeyRef: { name: "x", key: "k" } }),
    `${m}${refs}configmaps`,
  ],
  ["a mirror pod with a Secret volume", withVolume({ secret: { secretName: "x" } }), `${m}${refs}secrets`],
  ["a mirror pod with a ConfigMap volume", withVolume({ configMap: { name: "x" } }), `${m}${refs}configmaps`],
  [
    "a mirror pod with a Secret volume without a name",
    withVolume({ secret: {} }),
    `${m}${refs}secrets (via secret volumes)`,
  ],
  [
    "a mirror pod with a CSI volume",
    withVolume({ csi: { driver: "x" } }),
    `${m}${refs}csidrivers (via CSI volumes)`,
  ],
  [
    "a mirror pod with a PVC",
    withVolume({ persistentVolumeClaim: { claimName: "x" } }),
    `${m}${refs}persistentvolumeclaims`,
  ],
  [
    "a mirror pod with an ephemeral volume",
    withVolume({ ephemeral: {} }),
    `${m}${refs}persistentvolumeclaims (via ephemeral volumes)`,
  ],
  [
    "a mirror pod with a service account token volume",
    withVolume({ projected: { sources: [{ serviceAccountToken: { path: "t" } }] } }),
    `${m}${refs}serviceaccounts (via projected volumes)`,
  ],
  [
    "a mirror pod with a ClusterTrustBundle volume",
    withVolume({ projected: { sources: [{ clusterTrustBundle: {} }] } }),
    `${m}${refs}clustertrustbundles`,
  ],
  [
    "a mirror pod with a resource claim",
    mirror({ resourceClaims: [{ name: "x" }] }),
    `${m}${refs}resourceclaims`,
  ],
  [
    "a mirror pod with a volume of an unknown type",
    withVolume({ novel: {} }),
    `${m}error checking mirror pod for API references: unknown volume type for volume  "v"`,
  ],
  [
    "a mirror pod with an unknown projected source",
    withVolume({ projected: { sources: [{ novel: {} }] } }),
    `${m}error checking mirror pod for API references: unknown source for projected volume "v"`,
  ],
  [
    "an update of a pod",
    { operation: "UPDATE", name: "mine" },
    'pods "mine" is forbidden: unexpected operation "UPDATE", node "n1" can only create and delete mirror pods',
  ],
  ["the deletion of a pod on this node", { operation: "DELETE", name: "mine" }],
  [
    "the deletion of a pod on another node",
    { operation: "DELETE", name: "theirs" },
    'pods "theirs" is forbidden: node "n1" can only delete pods with spec.nodeName set to itself',
  ],
  ["the deletion of a missing pod", { operation: "DELETE", name: "none" }, 'pods "none" not found'],
  ["the eviction of a pod on this node", { subresource: "eviction", name: "mine", object: { metadata: {} } }],
  [
    "the eviction of a pod on another node",
    { subresource: "eviction", name: "theirs", object: { metadata: {} } },
    'pods "theirs" is forbidden: node n1 can only evict pods with spec.nodeName set to itself',
  ],
  ["the eviction of a missing pod", { subresource: "eviction", name: "none" }, 'pods "none" not found'],
  [
    "another subresource of a pod",
    { subresource: "exec", name: "mine" },
    `pods "mine" is forbidden: unexpected pod subresource "exec", only 'status' and 'eviction' are allowed`,
  ],

  ["a status update of a pod on this node", status({ status: { phase: "Running" } }, {})],
  [
    "a status update of a pod on another node",
    status({ spec: { nodeName: "n2" } }),
    'pods "mine" is forbidden: node "n1" can only update pod status for pods with spec.nodeName set to itself',
  ],
  [
    "a status update that changes labels",
    status({ metadata: { name: "mine", labels: { a: "c" } } }, {}),
    'pods "mine" is forbidden: node "n1" cannot update labels through pod status',
  ],
  [
    "a status update that changes resource claim statuses",
    status({ status: { resourceClaimStatuses: [{ name: "x" }] } }, {}),
    'pods "mine" is forbidden: node "n1" cannot update resource claim statues',
  ],
  [
    "a status update that changes the extended resource claim status",
    status({ status: { extendedResourceClaimStatus: { resourceClaimName: "x" } } }, {}),
    'pods "mine" is forbidden: node "n1" cannot update extended resource claim status',
  ],
  [
    "the creation of a pod status",
    { subresource: "status", name: "mine" },
    'pods "mine" is forbidden: unexpected operation "CREATE"',
  ],

  [
    "the registration of the node itself",
    nodeWrite("CREATE", { labels: { "kubernetes.io/hostname": "n1", mine: "1" } }),
  ],
  [
    "a registration with taints",
    nodeWrite("CREATE", { spec: { taints: [{ key: "a", effect: "NoSchedule" }] } }),
  ],
  [
    "the registration of another node",
    { ...nodeWrite("CREATE", {}), name: "n2" },
    'nodes "n2" is forbidden: node "n1" is not allowed to modify node "n2"',
  ],
  [
    "a registration with a config source",
    nodeWrite("CREATE", { spec: { configSource: { configMap: {} } } }),
    'nodes "n1" is forbidden: node "n1" is not allowed to create pods with a non-nil configSource',
  ],
  [
    "a registration with labels that a node may not set",
    nodeWrite("CREATE", {
      labels: {
        "node-role.kubernetes.io/control-plane": "",
        "x.node-restriction.kubernetes.io/a": "",
        "foo.k8s.io/b": "",
        "example.com/fine": "",
      },
    }),
    'nodes "n1" is forbidden: node "n1" is not allowed to set the following labels: foo.k8s.io/b, node-role.kubernetes.io/control-plane, x.node-restriction.kubernetes.io/a',
  ],
  [
    "a change to labels that a node may set",
    nodeWrite(
      "UPDATE",
      {
        labels: {
          "kubelet.kubernetes.io/a": "1",
          "x.node.kubernetes.io/b": "1",
          "topology.kubernetes.io/zone": "z",
          "beta.kubernetes.io/arch": "amd64",
        },
      },
      { labels: {} },
    ),
  ],
  [
    "the removal of a label that a node may not set",
    nodeWrite("UPDATE", { labels: {} }, { labels: { "node-role.kubernetes.io/x": "" } }),
    'nodes "n1" is forbidden: is not allowed to modify labels: node-role.kubernetes.io/x',
  ],
  [
    "an update that keeps a label that a node may not set",
    nodeWrite(
      "UPDATE",
      { labels: { "node-role.kubernetes.io/x": "" } },
      { labels: { "node-role.kubernetes.io/x": "" } },
    ),
  ],
  [
    "a change to taints",
    nodeWrite("UPDATE", { spec: {} }, { spec: { taints: [{ key: "a", effect: "NoSchedule" }] } }),
    'nodes "n1" is forbidden: node "n1" is not allowed to modify taints',
  ],
  [
    "an empty list of taints instead of none",
    nodeWrite("UPDATE", { spec: { taints: [] } }, { spec: {} }, "status"),
  ],
  [
    "a change to taints by a status update",
    nodeWrite("UPDATE", { spec: { taints: [{ key: "a" }] } }, { spec: {} }, "status"),
    'nodes "n1" is forbidden: node "n1" is not allowed to modify taints',
  ],
  [
    "a change to the node's owner references",
    nodeWrite("UPDATE", { ownerReferences: [owner] }, {}),
    'nodes "n1" is forbidden: node "n1" is not allowed to modify ownerReferences',
  ],
  [
    "a change to the config source",
    nodeWrite("UPDATE", { spec: { configSource: { configMap: { name: "a" } } } }, { spec: {} }),
    'nodes "n1" is forbidden: node "n1" is not allowed to update configSource to a new non-nil configSource',
  ],
  [
    "the removal of the config source",
    nodeWrite("UPDATE", { spec: {} }, { spec: { configSource: { configMap: {} } } }),
  ],

  ["a token bound to a pod on this node", token(bound("mine"))],
  ["a token for an audience in the pod's token volumes", token({ ...bound("mine"), audiences: ["vault"] })],
  ["a token for an audience of the pod's CSI driver", token({ ...bound("csi"), audiences: ["sts"] })],
  [
    "a token for an audience of the CSI driver of the pod's PVC",
    token({ ...bound("claim"), audiences: ["sts"] }),
  ],
  ["an unbound token", token({}), `${t}node requested token not bound to a pod`],
  [
    "a token bound to a Secret",
    token(bound("mine", { kind: "Secret" })),
    `${t}node requested token not bound to a pod`,
  ],
  [
    "a token bound to a pod without its UID",
    token(bound("mine", { uid: "" })),
    `${t}node requested token with a pod binding without a uid`,
  ],
  [
    "a token bound to a pod with another UID",
    token(bound("mine", { uid: "x" })),
    `${t}the UID in the bound object reference (x) does not match the UID in record. The object might have been deleted and then recreated`,
  ],
  [
    "a token bound to a pod on another node",
    token(bound("theirs")),
    `${t}node requested token bound to a pod scheduled on a different node`,
  ],
  ["a token bound to a missing pod", token(bound("none")), 'pods "none" not found'],
  [
    "a token for two audiences",
    token({ ...bound("mine"), audiences: ["a", "b"] }),
    `${t}node may only request 0 or 1 audiences`,
  ],
  [
    "a token for an audience that the pod does not use",
    token({ ...bound("mine"), audiences: ["x"] }),
    `${t}audience "x" not found in pod spec volume, system:node:n1 is not authorized to request tokens for this audience`,
  ],
  [
    "a token for a pod whose PVC is missing",
    token({ ...bound("lost"), audiences: ["x"] }),
    `${t}error validating audience "x": persistentvolumeclaims "gone" not found`,
  ],

  [
    "an expanded capacity in a PVC's status",
    claim(
      { status: { phase: "Bound", capacity: { storage: "2Gi" }, conditions: [] } },
      { status: { phase: "Bound", capacity: { storage: "1Gi" } } },
    ),
  ],
  [
    "a change to a PVC's phase",
    claim({ status: { phase: "Lost" } }, { status: { phase: "Bound" } }),
    'persistentvolumeclaims "c" is forbidden: node "n1" is not allowed to update fields other than status.quantity and status.conditions: status',
  ],
  [
    "a change to a PVC's labels",
    claim({ metadata: { name: "c" } }, {}),
    'persistentvolumeclaims "c" is forbidden: node "n1" is not allowed to update fields other than status.quantity and status.conditions: metadata',
  ],
  [
    "an update of a PVC outside of its status",
    { ...claim({}, {}), subresource: "" },
    'persistentvolumeclaims "c" is forbidden: may only update PVC status',
  ],

  ["the creation of the node's own lease", lease("CREATE", "n1")],
  ["the renewal of the node's own lease", lease("UPDATE", "n1")],
  [
    "the creation of another node's lease",
    lease("CREATE", "n2"),
    'leases.coordination.k8s.io "n2" is forbidden: can only access node lease with the same name as the requesting node',
  ],
  [
    "the deletion of another node's lease",
    lease("DELETE", "n2"),
    'leases.coordination.k8s.io "n2" is forbidden: can only access node lease with the same name as the requesting node',
  ],
  [
    "a lease in another namespace",
    lease("CREATE", "n1", "default"),
    'leases.coordination.k8s.io "n1" is forbidden: can only access leases in the "kube-node-lease" system namespace',
  ],
  [
    "the creation of the node's own CSINode",
    { ...lease("CREATE", "n1", ""), group: "storage.k8s.io", resource: "csinodes" },
  ],
  [
    "an update of another node's CSINode",
    { ...lease("UPDATE", "n2", ""), group: "storage.k8s.io", resource: "csinodes" },
    'csinodes.storage.k8s.io "n2" is forbidden: can only access CSINode with the same name as the requesting node',
  ],
  [
    "a ResourceSlice of another node",
    {
      ...lease("CREATE", "s", ""),
      group: "resource.k8s.io",
      resource: "resourceslices",
      object: { metadata: { name: "s" }, spec: { nodeName: "n2" } } as never,
    },
    'resourceslices.resource.k8s.io "s" is forbidden: can only create ResourceSlice with the same NodeName as the requesting node',
  ],

  ["a CSR for the node itself", csr(kubeletClientSigner, "system:node:n1")],
  [
    "a CSR for another node",
    csr(kubeletServingSigner, "system:node:n2"),
    'certificatesigningrequests.certificates.k8s.io "r" is forbidden: can only create a node CSR with CN=system:node:n1',
  ],
  ["a CSR to a signer that is not for kubelets", csr("example.com/x", "other")],
  [
    "a CSR that cannot be parsed",
    {
      ...csr(kubeletClientSigner, "x"),
      object: { metadata: { name: "r" }, spec: { signerName: kubeletClientSigner, request: "eA==" } },
    },
    'certificatesigningrequests.certificates.k8s.io "r" is forbidden: unable to parse csr: PEM block type must be CERTIFICATE REQUEST',
  ],
  [
    "a CSR of another user for the group system:masters",
    { ...csr("kubernetes.io/kube-apiserver-client", "jane", ["system:masters"]), caller: admin },
    'certificatesigningrequests.certificates.k8s.io "r" is forbidden: use of kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed',
  ],
  [
    "a CSR of another user for another name",
    { ...csr("kubernetes.io/kube-apiserver-client", "jane", ["team"]), caller: admin },
  ],
  ["a certificate request for a pod of the node", podCertificate({})],
  [
    "a certificate request of another node",
    podCertificate({ nodeName: "n2" }),
    certificateForbidden('PodCertificateRequest.Spec.NodeName="n2", which is not the requesting node "n1"'),
  ],
  [
    "a certificate request for a pod of another node",
    podCertificate({ podName: "theirs", podUID: "theirs-uid" }),
    certificateForbidden('pod "ns/theirs" is not running on node "n1" named in the PodCertificateRequest'),
  ],
  [
    "a certificate request for another service account",
    podCertificate({ serviceAccountName: "other" }),
    certificateForbidden(
      'PodCertificateRequest for pod "ns/mine" contains serviceAccountName ("other") that differs from running pod ("default")',
    ),
  ],
  [
    "a certificate request for a previous pod of the same name",
    podCertificate({ podUID: "old" }),
    certificateForbidden(
      'PodCertificateRequest for pod "ns/mine" names pod UID "old", which differs from the running one ("mine-uid")',
    ),
  ],
  [
    "a certificate request with the UID of another service account",
    podCertificate({ serviceAccountUID: "old" }),
    certificateForbidden(
      'PodCertificateRequest for pod "ns/mine" names service account UID "old", which differs from the running one ("account-uid")',
    ),
  ],
  [
    "a change to a certificate request",
    { ...podCertificate({}), operation: "UPDATE", name: "r" },
    certificateForbidden("unexpected operation UPDATE"),
  ],
  ["an event", { resource: "events", object: { metadata: { name: "e" } } }],
];

test("NodeRestriction restricts the writes of a node", async (t) => {
  for (const [name, what, expected] of rows)
    await t.test(`${expected === undefined ? "allows" : "rejects"} ${name}`, async () => {
      const error = await admission.admit(request(what)).then(
        () => undefined,
        (error: unknown) => error,
      );
      if (expected === undefined) return assert.equal(error, undefined);
      assert(error instanceof StatusError, String(error));
      assert.equal(error.message, expected);
      assert.equal(
        error.status,
        expected.endsWith("not found") && !expected.includes("forbidden") ? 404 : 403,
      );
    });
});

test("a rejection names the object", async () => {
  await assert.rejects(admission.admit(request(lease("CREATE", "n2"))), {
    status: 403,
    reason: "Forbidden",
    details: { name: "n2", group: "coordination.k8s.io", kind: "leases" },
  });
});
