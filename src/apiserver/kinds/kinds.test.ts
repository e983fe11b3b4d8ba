import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { generateKey, makeRequest, pemBlocks } from "../../lib/base/x509/x509.ts";
import { updateErrors, validationErrors } from "./fixtures.ts";

const base64 = (text: string) => Buffer.from(text).toString("base64");

/** A request of a kubelet for one of its pods. */
const podRequest = {
  signerName: "a.b/c",
  podName: "p",
  podUID: "pu",
  serviceAccountName: "s",
  serviceAccountUID: "su",
  nodeName: "n",
  nodeUID: "nu",
  stubPKCS10Request:
    pemBlocks(
      makeRequest({ subject: { commonName: "", organizations: [] }, key: generateKey().privateKey }),
    )[0]?.der.toString("base64") ?? "",
};

describe("validation of new objects", () => {
  const volume = {
    capacity: { storage: "1Gi" },
    accessModes: ["ReadWriteOnce"],
    hostPath: { path: "/data" },
  };
  const claim = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } };
  const old = { involvedObject: { namespace: "default" }, reason: "r", message: "m" };
  const cases: [string, string, object, string[]][] = [
    ["configmaps", "is fine", { data: { a: "b" }, binaryData: { c: "AA==" } }, []],
    [
      "configmaps",
      "has each key once",
      { data: { a: "b" }, binaryData: { a: "AA==" } },
      ['data[a]: Invalid value: "a": duplicate of key present in binaryData'],
    ],
    [
      "configmaps",
      "checks keys",
      { data: { "a/b": "" } },
      [
        "data[a/b]: Invalid value: \"a/b\": a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')",
      ],
    ],
    ["configmaps", "may contain 1 MiB", { data: { a: "x".repeat(1024 * 1024) } }, []],
    [
      "configmaps",
      "may not contain more",
      { data: { a: "x".repeat(1024 * 1024), b: "y" } },
      [": Too long: may not be more than 1048576 bytes"],
    ],
    ["secrets", "is fine", { stringData: { a: "b" } }, []],
    [
      "secrets",
      "of type tls has both",
      { type: "kubernetes.io/tls", data: { "tls.crt": "" } },
      ["data[tls.key]: Required value"],
    ],
    [
      "secrets",
      "of type basic-auth has one of them",
      { type: "kubernetes.io/basic-auth" },
      ["data[username]: Required value", "data[password]: Required value"],
    ],
    [
      "secrets",
      "of type dockerconfigjson is JSON",
      { type: "kubernetes.io/dockerconfigjson", data: { ".dockerconfigjson": base64("[]") } },
      [
        'data[.dockerconfigjson]: Invalid value: "<secret contents redacted>": json: cannot unmarshal array into Go value of type map[string]interface {}',
      ],
    ],
    [
      "secrets",
      "of type service-account-token names the account",
      { type: "kubernetes.io/service-account-token" },
      ["metadata.annotations[kubernetes.io/service-account.name]: Required value"],
    ],
    ["namespaces", "is fine", { metadata: { name: "a" } }, []],
    [
      "namespaces",
      "checks its finalizers",
      { spec: { finalizers: ["x"] } },
      [
        'spec.finalizers: Invalid value: "x": name is neither a standard finalizer name nor is it fully qualified',
      ],
    ],
    [
      "nodes",
      "is fine",
      {
        spec: { podCIDRs: ["10.0.0.0/24", "fd00::/64"] },
        status: { capacity: { cpu: "1500m", pods: "110" } },
      },
      [],
    ],
    [
      "nodes",
      "has one range for each family",
      { spec: { podCIDRs: ["10.0.0.0/24", "10.0.1.0/24"] } },
      [
        'spec.podCIDRs: Invalid value: ["10.0.0.0/24","10.0.1.0/24"]: may specify no more than one CIDR for each IP family',
      ],
    ],
    [
      "nodes",
      "checks ranges",
      { spec: { podCIDRs: ["10.0.0.0"] } },
      [
        'spec.podCIDRs[0]: Invalid value: "10.0.0.0": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)',
      ],
    ],
    [
      "nodes",
      "checks effects of taints",
      { spec: { taints: [{ key: "a", effect: "Never" }] } },
      [
        'metadata.taints[0].effect: Unsupported value: "Never": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"',
      ],
    ],
    [
      "nodes",
      "has each taint once",
      {
        spec: {
          taints: [
            { key: "a", effect: "NoExecute" },
            { key: "a", value: "b", effect: "NoExecute" },
          ],
        },
      },
      [
        'metadata.taints[1]: Duplicate value: {"key":"a","value":"b","effect":"NoExecute"}: taints must be unique by key and effect pair',
      ],
    ],
    [
      "nodes",
      "counts pods",
      { status: { capacity: { pods: "1500m", cpu: "-1" } } },
      [
        'status.capacity.pods: Invalid value: "1500m": must be an integer',
        'status.capacity.cpu: Invalid value: "-1": must be greater than or equal to 0',
      ],
    ],
    [
      "leases.coordination.k8s.io",
      "lasts",
      { spec: { leaseDurationSeconds: 0 } },
      ["spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0"],
    ],
    ["events", "of core/v1 are valid", old, []],
    [
      "events",
      "are in the namespace of their object",
      { ...old, involvedObject: { namespace: "other" } },
      ['involvedObject.namespace: Invalid value: "other": does not match event.namespace'],
    ],
    [
      "events",
      "of events.k8s.io need a reporting instance and action",
      { ...old, eventTime: "2026-01-01T00:00:00.000000Z", reportingComponent: "a.b/c" },
      ["reportingInstance: Required value", "action: Required value"],
    ],
    [
      "runtimeclasses.node.k8s.io",
      "is fine",
      { handler: "runc", overhead: { podFixed: { cpu: "10m" } } },
      [],
    ],
    ["runtimeclasses.node.k8s.io", "needs a handler", {}, ["handler: Required value"]],
    [
      "priorityclasses.scheduling.k8s.io",
      "is bounded",
      { value: 1_000_000_001 },
      ["value: Forbidden: maximum allowed value of a user defined priority is 1000000000"],
    ],
    [
      "priorityclasses.scheduling.k8s.io",
      "may not use reserved names",
      { metadata: { name: "system-mine" }, value: 1 },
      [
        "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. error: system-mine is not a known system priority class",
      ],
    ],
    ["storageclasses.storage.k8s.io", "needs a provisioner", {}, ["provisioner: Required value"]],
    [
      "storageclasses.storage.k8s.io",
      "checks its policy",
      { provisioner: "a.b/c", reclaimPolicy: "Recycle" },
      ['reclaimPolicy: Unsupported value: "Recycle": supported values: "Delete", "Retain"'],
    ],
    ["csidrivers.storage.k8s.io", "is fine", {}, []],
    [
      "csinodes.storage.k8s.io",
      "has each driver once",
      {
        spec: {
          drivers: [
            { name: "a", nodeID: "n" },
            { name: "a", nodeID: "n" },
          ],
        },
      },
      ['spec.drivers[1].name: Duplicate value: "a"'],
    ],
    [
      "volumeattachments.storage.k8s.io",
      "has one source",
      { spec: { attacher: "a", nodeName: "n", source: {} } },
      ["spec.source: Required value: must specify exactly one of inlineVolumeSpec and persistentVolumeName"],
    ],
    ["persistentvolumes", "is fine", { spec: volume }, []],
    [
      "persistentvolumes",
      "needs a source",
      { spec: { ...volume, hostPath: undefined } },
      ["spec: Required value: must specify a volume type"],
    ],
    [
      "persistentvolumes",
      "has one source only",
      { spec: { ...volume, nfs: { server: "s", path: "/p" } } },
      ["spec.nfs: Forbidden: may not specify more than 1 volume type"],
    ],
    [
      "persistentvolumes",
      "with an iSCSI source names its target",
      { spec: { ...volume, hostPath: undefined, iscsi: { targetPortal: "192.0.2.1", iqn: "x", lun: 256 } } },
      [
        'spec.iscsi.iqn: Invalid value: "x": must be valid format',
        "spec.iscsi.lun: Invalid value: 256: must be between 0 and 255, inclusive",
      ],
    ],
    [
      "persistentvolumes",
      "has a size",
      { spec: { ...volume, capacity: {} } },
      ["spec.capacity: Required value", 'spec.capacity: Unsupported value: {}: supported values: "storage"'],
    ],
    [
      "persistentvolumes",
      "with a local path needs node affinity",
      { spec: { ...volume, hostPath: undefined, local: { path: "/p" } } },
      ["spec.nodeAffinity: Required value: Local volume requires node affinity"],
    ],
    ["persistentvolumeclaims", "is fine", { spec: claim }, []],
    [
      "persistentvolumeclaims",
      "needs access modes and a storage request",
      { spec: {} },
      [
        "spec.accessModes: Required value: at least 1 access mode is required",
        "spec.resources[storage]: Required value",
      ],
    ],
    [
      "persistentvolumeclaims",
      "with ReadWriteOncePod has no other access mode",
      { spec: { ...claim, accessModes: ["ReadWriteOncePod", "ReadOnlyMany"] } },
      ["spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes"],
    ],
    [
      "endpoints",
      "need a reachable address",
      { subsets: [{ addresses: [{ ip: "127.0.0.1" }], ports: [{ port: 80 }] }] },
      [
        'subsets[0].addresses[0].ip: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)',
      ],
    ],
    ["podcertificaterequests.certificates.k8s.io", "is fine", { spec: podRequest }, []],
    [
      "podcertificaterequests.certificates.k8s.io",
      "names the signer, the pod, its account and its node",
      { spec: { stubPKCS10Request: podRequest.stubPKCS10Request } },
      [
        "signerName",
        "podName",
        "podUID",
        "serviceAccountName",
        "serviceAccountUID",
        "nodeName",
        "nodeUID",
      ].map((field) => `spec.${field}: Required value`),
    ],
    [
      "podcertificaterequests.certificates.k8s.io",
      "has a request",
      { spec: { ...podRequest, stubPKCS10Request: "eA==" } },
      [
        'spec.stubPKCS10Request: Invalid value: "<value omitted>": malformed certificate request: no element of type 0x30 where one is expected',
      ],
    ],
    [
      "podcertificaterequests.certificates.k8s.io",
      "is valid for at least an hour",
      { spec: { ...podRequest, maxExpirationSeconds: 60 } },
      ["spec.maxExpirationSeconds: Invalid value: 60: must be in the range [3600, 7862400]"],
    ],
    [
      "endpointslices.discovery.k8s.io",
      "has addresses of one family",
      { addressType: "IPv6", endpoints: [{ addresses: ["10.0.0.1"] }] },
      ['endpoints[0].addresses[0]: Invalid value: "10.0.0.1": must be an IPv6 address'],
    ],
  ];
  for (const [resource, what, object, expected] of cases)
    test(`${resource}: ${what}`, async () =>
      assert.deepEqual(await validationErrors(resource, object), expected));
});

describe("validation of updates", () => {
  const immutable = "field is immutable when `immutable` is set";
  const volume = {
    capacity: { storage: "1Gi" },
    accessModes: ["ReadWriteOnce"],
    hostPath: { path: "/data" },
  };
  const claim = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } };
  const cases: [string, string, object, object, string[]][] = [
    ["configmaps", "may be made immutable", { data: { a: "b" } }, { data: { a: "c" }, immutable: true }, []],
    [
      "configmaps",
      "remains immutable",
      { data: { a: "b" }, immutable: true },
      { data: { a: "c" } },
      [`immutable: Forbidden: ${immutable}`, `data: Forbidden: ${immutable}`],
    ],
    ["secrets", "keeps its type", {}, { type: "mine" }, ['type: Invalid value: "mine": field is immutable']],
    [
      "secrets",
      "may be relabeled when immutable",
      { immutable: true, data: { a: "AA==" } },
      { metadata: { labels: { a: "b" } }, immutable: true, data: { a: "AA==" } },
      [],
    ],
    ["nodes", "may be cordoned", { spec: {} }, { spec: { unschedulable: true } }, []],
    ["nodes", "may get a range", { spec: {} }, { spec: { podCIDR: "10.0.0.0/24" } }, []],
    [
      "nodes",
      "keeps its range",
      { spec: { podCIDR: "10.0.0.0/24" } },
      { spec: { podCIDR: "10.0.1.0/24" } },
      ['spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid'],
    ],
    [
      "nodes",
      "keeps its provider",
      { spec: { providerID: "a" } },
      { spec: { providerID: "b" } },
      ['spec.providerID: Forbidden: node updates may not change providerID except from "" to valid'],
    ],
    [
      "runtimeclasses.node.k8s.io",
      "keeps its handler",
      { handler: "a" },
      { handler: "b" },
      ['handler: Invalid value: "b": field is immutable'],
    ],
    [
      "priorityclasses.scheduling.k8s.io",
      "keeps its value",
      { value: 1 },
      { value: 2 },
      ["value: Forbidden: may not be changed in an update."],
    ],
    [
      "volumeattachments.storage.k8s.io",
      "has an immutable spec",
      { spec: { attacher: "a", nodeName: "n", source: { persistentVolumeName: "p" } } },
      { spec: { attacher: "a", nodeName: "m", source: { persistentVolumeName: "p" } } },
      [
        'spec: Invalid value: {"attacher":"a","nodeName":"m","source":{"persistentVolumeName":"p"}}: field is immutable',
      ],
    ],
    ["persistentvolumeclaims", "may be bound", { spec: claim }, { spec: { ...claim, volumeName: "v" } }, []],
    [
      "persistentvolumeclaims",
      "accepts equal quantities in another notation",
      { spec: claim },
      { spec: { ...claim, resources: { requests: { storage: "1024Mi" } } } },
      [],
    ],
    [
      "persistentvolumes",
      "may get a claimRef",
      { spec: volume },
      { spec: { ...volume, claimRef: { name: "c" } } },
      [],
    ],
  ];
  for (const [resource, what, before, after, expected] of cases)
    test(`${resource}: ${what}`, async () =>
      assert.deepEqual(await updateErrors(resource, before, after), expected));

  test("podcertificaterequests: the spec is immutable", async () => {
    const [found] = await updateErrors(
      "podcertificaterequests.certificates.k8s.io",
      { spec: podRequest },
      { spec: { ...podRequest, podName: "other" } },
    );
    assert.match(found ?? "", /^spec: Invalid value: .*: field is immutable$/);
  });

  test("podcertificaterequests: the status has one result, and an issued one its certificate", async () => {
    const errors = (status: object) =>
      updateErrors(
        "podcertificaterequests.certificates.k8s.io",
        { spec: podRequest },
        { spec: podRequest, status },
        "status",
      );
    assert.deepEqual(await errors({ conditions: [{ type: "Denied" }] }), []);
    assert.match(
      (await errors({ conditions: [{ type: "Denied" }, { type: "Failed" }] }))[0] ?? "",
      /^status.conditions: Invalid value: .*: There may be at most one condition/,
    );
    assert.deepEqual(
      (await errors({ conditions: [{ type: "Issued" }], certificateChain: "x" })).map((e) => e.split(":")[0]),
      ["status.beginRefreshAt", "status.notBefore", "status.notAfter"],
    );
  });

  test("persistentvolumeclaims: the spec is immutable", async () => {
    const [found, ...more] = await updateErrors(
      "persistentvolumeclaims",
      { spec: claim },
      { spec: { ...claim, resources: { requests: { storage: "2Gi" } } } },
    );
    assert.match(
      found ?? "",
      /^spec: Forbidden: spec is immutable after creation except resources\.requests and volumeAttributesClassName for bound claims\n/,
    );
    assert.deepEqual(more, []);
  });

  test("persistentvolumes: the source is immutable", async () => {
    const [found] = await updateErrors(
      "persistentvolumes",
      { spec: volume },
      { spec: { ...volume, hostPath: { path: "/other" } } },
    );
    assert.match(
      found ?? "",
      /^spec\.persistentvolumesource: Forbidden: spec\.persistentvolumesource is immutable after creation\n/,
    );
  });

  test("namespaces: the phase follows the deletion", async () =>
    assert.deepEqual(
      await updateErrors(
        "namespaces",
        { status: { phase: "Active" } },
        { status: { phase: "Terminating" } },
        "status",
      ),
      ["status.Phase: Invalid value: \"Terminating\": may only be 'Active' if `deletionTimestamp` is empty"],
    ));

  test("nodes: a status has each address once", async () => {
    const address = { type: "InternalIP", address: "10.0.0.1" };
    assert.deepEqual(
      await updateErrors("nodes", {}, { status: { addresses: [address, address] } }, "status"),
      ['status.addresses[1]: Duplicate value: {"Type":"InternalIP","Address":"10.0.0.1"}'],
    );
  });
});
