import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { anObject, secondsBeforeNoon, shown, table } from "./fixtures.ts";

type Fields = Record<string, unknown>;

interface Row {
  rule: string;
  of: string;
  object?: Fields;
  metadata?: Fields;
  /** The expected cells. */
  is: Record<string, unknown>;
}

const nodeInfo = {
  kubeletVersion: "v1.36.4",
  osImage: "Debian",
  kernelVersion: "6.1",
  architecture: "amd64",
  containerRuntimeVersion: "containerd://2.1",
};

const rows: Row[] = [
  {
    rule: "a node that is ready, in full",
    of: "nodes",
    metadata: {
      labels: {
        "node-role.kubernetes.io/worker": "",
        "kubernetes.io/role": "edge",
        "node-role.kubernetes.io/": "",
      },
    },
    object: {
      status: {
        nodeInfo,
        conditions: [{ type: "Ready", status: "True" }],
        addresses: [
          { type: "Hostname", address: "h" },
          { type: "InternalIP", address: "10.0.0.1" },
          { type: "ExternalIP", address: "1.2.3.4" },
        ],
      },
    },
    is: {
      Name: "a",
      Status: "Ready",
      Roles: "edge,worker",
      Age: "5m10s",
      Version: "v1.36.4",
      "Internal-IP": "10.0.0.1",
      "External-IP": "1.2.3.4",
      "OS-Image": "Debian",
      "Kernel-Version": "6.1 (amd64)",
      "Container-Runtime": "containerd://2.1",
    },
  },
  {
    rule: "a node without a status",
    of: "nodes",
    is: {
      Status: "Unknown",
      Roles: "<none>",
      Version: "",
      "Internal-IP": "<none>",
      "External-IP": "<none>",
      "OS-Image": "<unknown>",
      "Kernel-Version": "<unknown>",
      "Container-Runtime": "<unknown>",
    },
  },
  {
    rule: "a cordoned node whose kubelet does not report",
    of: "nodes",
    object: { spec: { unschedulable: true }, status: { conditions: [{ type: "Ready", status: "Unknown" }] } },
    is: { Status: "NotReady,SchedulingDisabled" },
  },
  {
    rule: "namespaces",
    of: "namespaces",
    object: { status: { phase: "Active" } },
    is: { Status: "Active", Age: "5m10s" },
  },
  {
    rule: "configmaps count text and binary entries",
    of: "configmaps",
    object: { data: { a: "", b: "" }, binaryData: { c: "" } },
    is: { Data: 3 },
  },
  {
    rule: "secrets",
    of: "secrets",
    object: { type: "Opaque", data: { a: "" } },
    is: { Type: "Opaque", Data: 1 },
  },
  { rule: "service accounts", of: "serviceaccounts", is: { Name: "a", Age: "5m10s" } },
  {
    rule: "a service with an address and a selector",
    of: "services",
    object: {
      spec: {
        type: "NodePort",
        clusterIPs: ["10.96.0.1"],
        ports: [
          { port: 80, nodePort: 30080, protocol: "TCP" },
          { port: 53, protocol: "UDP" },
        ],
        selector: { b: "2", a: "1" },
      },
    },
    is: {
      Type: "NodePort",
      "Cluster-IP": "10.96.0.1",
      "External-IP": "<none>",
      "Port(s)": "80:30080/TCP,53/UDP",
      Selector: "a=1,b=2",
    },
  },
  {
    rule: "an ExternalName service",
    of: "services",
    object: { spec: { type: "ExternalName", externalName: "example.org" } },
    is: { "Cluster-IP": "<none>", "External-IP": "example.org", "Port(s)": "<none>", Selector: "<none>" },
  },
  {
    rule: "a load balancer that has no address yet",
    of: "services",
    object: { spec: { type: "LoadBalancer" }, status: { loadBalancer: {} } },
    is: { "External-IP": "<pending>" },
  },
  {
    rule: "a load balancer with addresses of both kinds",
    of: "services",
    object: {
      spec: { type: "LoadBalancer", externalIPs: ["9.9.9.9"] },
      status: { loadBalancer: { ingress: [{ hostname: "h" }, { ip: "1.1.1.1" }, { ip: "1.1.1.1" }] } },
    },
    is: { "External-IP": "1.1.1.1,h,9.9.9.9" },
  },
  {
    rule: "endpoints beyond three are counted",
    of: "endpoints",
    object: {
      subsets: [
        { addresses: [{ ip: "10.0.0.1" }, { ip: "fd00::1" }], ports: [{ port: 80 }] },
        { addresses: [{ ip: "10.0.0.2" }, { ip: "10.0.0.3" }] },
      ],
    },
    is: { Endpoints: "10.0.0.1:80,[fd00::1]:80,10.0.0.2 + 1 more..." },
  },
  { rule: "no endpoints", of: "endpoints", is: { Endpoints: "<none>" } },
  {
    rule: "an endpoint slice",
    of: "endpointslices.discovery.k8s.io",
    object: {
      addressType: "IPv4",
      ports: [{ port: 80 }, { name: "web" }, {}, { port: 1 }],
      endpoints: [{ addresses: ["1", "2"] }, { addresses: ["3", "4"] }],
    },
    is: { AddressType: "IPv4", Ports: "80,web,* + 1 more...", Endpoints: "1,2,3 + 1 more..." },
  },
  {
    rule: "an empty endpoint slice",
    of: "endpointslices.discovery.k8s.io",
    object: { addressType: "IPv4" },
    is: { Ports: "<unset>", Endpoints: "<unset>" },
  },
  {
    rule: "an event with a count",
    of: "events",
    object: {
      type: "Warning",
      reason: "BackOff",
      message: " back-off \n",
      count: 7,
      involvedObject: { kind: "Pod", name: "p", fieldPath: "spec.containers{a}" },
      source: { component: "kubelet", host: "n" },
      firstTimestamp: secondsBeforeNoon(600),
      lastTimestamp: secondsBeforeNoon(30),
    },
    is: {
      "Last Seen": "30s",
      Type: "Warning",
      Reason: "BackOff",
      Object: "pod/p",
      Subobject: "spec.containers{a}",
      Source: "kubelet, n",
      Message: "back-off",
      "First Seen": "10m",
      Count: 7,
      Name: "a",
    },
  },
  {
    rule: "an event of events.k8s.io, reported once",
    of: "events",
    object: {
      eventTime: secondsBeforeNoon(20),
      involvedObject: { kind: "Node" },
      reportingComponent: "s",
      message: "m",
    },
    is: { "Last Seen": "20s", "First Seen": "20s", Count: 1, Object: "node", Source: "s" },
  },
  {
    rule: "an event of events.k8s.io, reported as a series",
    of: "events.events.k8s.io",
    object: {
      apiVersion: "events.k8s.io/v1",
      note: "m",
      eventTime: secondsBeforeNoon(90),
      regarding: { kind: "Pod", name: "p" },
      reportingController: "c",
      reportingInstance: "i",
      series: { count: 4, lastObservedTime: secondsBeforeNoon(5) },
    },
    is: { "Last Seen": "5s", "First Seen": "90s", Count: 4, Object: "pod/p", Source: "c, i", Message: "m" },
  },
  {
    rule: "a bound volume",
    of: "persistentvolumes",
    object: {
      spec: {
        capacity: { storage: "1024Mi" },
        accessModes: ["ReadWriteMany", "ReadWriteOnce", "ReadWriteMany"],
        persistentVolumeReclaimPolicy: "Retain",
        claimRef: { namespace: "ns", name: "c" },
        storageClassName: "fast",
        volumeMode: "Filesystem",
      },
      status: { phase: "Bound" },
    },
    is: {
      Capacity: "1Gi",
      "Access Modes": "RWO,RWX",
      "Reclaim Policy": "Retain",
      Status: "Bound",
      Claim: "ns/c",
      StorageClass: "fast",
      VolumeAttributesClass: "<unset>",
      Reason: "",
      VolumeMode: "Filesystem",
    },
  },
  {
    rule: "a volume that is being deleted, with the deprecated class annotation",
    of: "persistentvolumes",
    metadata: {
      deletionTimestamp: secondsBeforeNoon(0),
      annotations: { "volume.beta.kubernetes.io/storage-class": "old" },
    },
    object: { spec: { storageClassName: "new", accessModes: ["ReadWriteOncePod", "ReadOnlyMany"] } },
    is: { Status: "Terminating", StorageClass: "old", Capacity: "0", "Access Modes": "ROX,RWOP", Claim: "" },
  },
  {
    rule: "a pending claim shows no volume",
    of: "persistentvolumeclaims",
    object: {
      spec: { resources: { requests: { storage: "1Gi" } }, accessModes: ["ReadWriteOnce"] },
      status: { phase: "Pending" },
    },
    is: {
      Status: "Pending",
      Volume: "",
      Capacity: "",
      "Access Modes": "",
      StorageClass: "",
      VolumeMode: "<unset>",
    },
  },
  {
    rule: "a bound claim",
    of: "persistentvolumeclaims",
    object: {
      spec: { volumeName: "v", storageClassName: "fast", volumeAttributesClassName: "gold" },
      status: { phase: "Bound", capacity: { storage: "2Gi" }, accessModes: ["ReadWriteOnce"] },
    },
    is: {
      Volume: "v",
      Capacity: "2Gi",
      "Access Modes": "RWO",
      StorageClass: "fast",
      VolumeAttributesClass: "gold",
    },
  },
  {
    rule: "the default storage class, with default values",
    of: "storageclasses.storage.k8s.io",
    metadata: { annotations: { "storageclass.kubernetes.io/is-default-class": "true" } },
    object: { provisioner: "p" },
    is: {
      Name: "a (default)",
      Provisioner: "p",
      ReclaimPolicy: "Delete",
      VolumeBindingMode: "Immediate",
      AllowVolumeExpansion: false,
    },
  },
  {
    rule: "a volume attachment",
    of: "volumeattachments.storage.k8s.io",
    object: {
      spec: { attacher: "d", nodeName: "n", source: { persistentVolumeName: "v" } },
      status: { attached: true },
    },
    is: { Attacher: "d", PV: "v", Node: "n", Attached: true },
  },
  {
    rule: "a CSI driver without a spec",
    of: "csidrivers.storage.k8s.io",
    object: { spec: {} },
    is: {
      AttachRequired: true,
      PodInfoOnMount: false,
      StorageCapacity: false,
      TokenRequests: "<unset>",
      RequiresRepublish: false,
      Modes: "<none>",
    },
  },
  {
    rule: "a CSI driver with a complete spec",
    of: "csidrivers.storage.k8s.io",
    object: {
      spec: {
        attachRequired: false,
        tokenRequests: [{ audience: "x" }, { audience: "y" }],
        volumeLifecycleModes: ["Persistent", "Ephemeral"],
      },
    },
    is: { AttachRequired: false, TokenRequests: "x,y", Modes: "Persistent,Ephemeral" },
  },
  {
    rule: "a CSI node",
    of: "csinodes.storage.k8s.io",
    object: { spec: { drivers: [{}, {}] } },
    is: { Drivers: 2 },
  },
  {
    rule: "a lease",
    of: "leases.coordination.k8s.io",
    object: { spec: { holderIdentity: "n" } },
    is: { Holder: "n" },
  },
  {
    rule: "a runtime class",
    of: "runtimeclasses.node.k8s.io",
    object: { handler: "runc" },
    is: { Handler: "runc" },
  },
  {
    rule: "a priority class",
    of: "priorityclasses.scheduling.k8s.io",
    object: { value: 2000001000, preemptionPolicy: "Never" },
    is: { Value: 2000001000, "Global-Default": false, PreemptionPolicy: "Never" },
  },
  {
    rule: "a certificate request that is pending",
    of: "certificatesigningrequests.certificates.k8s.io",
    object: { spec: { username: "u", signerName: "s", expirationSeconds: 86_400 } },
    is: { SignerName: "s", Requestor: "u", RequestedDuration: "24h", Condition: "Pending" },
  },
  {
    rule: "a certificate request that was approved and signed",
    of: "certificatesigningrequests.certificates.k8s.io",
    object: { spec: {}, status: { certificate: "x", conditions: [{ type: "Approved" }] } },
    is: { SignerName: "<none>", RequestedDuration: "<none>", Condition: "Approved,Issued" },
  },
  {
    rule: "a certificate request that was denied, and failed",
    of: "certificatesigningrequests.certificates.k8s.io",
    object: {
      spec: {},
      status: { conditions: [{ type: "Approved" }, { type: "Denied" }, { type: "Failed" }] },
    },
    is: { Condition: "Denied,Failed" },
  },
  {
    rule: "a trust bundle",
    of: "clustertrustbundles.certificates.k8s.io",
    object: { spec: {} },
    is: { Name: "a", SignerName: "<none>" },
  },
  {
    rule: "a pod certificate request without a result is pending",
    of: "podcertificaterequests.certificates.k8s.io",
    object: { spec: { podName: "p", serviceAccountName: "s", nodeName: "n", signerName: "a.b/c" } },
    is: {
      Name: "a",
      PodName: "p",
      ServiceAccountName: "s",
      NodeName: "n",
      SignerName: "a.b/c",
      State: "Pending",
    },
  },
  {
    rule: "a pod certificate request shows its result",
    of: "podcertificaterequests.certificates.k8s.io",
    object: { spec: {}, status: { conditions: [{ type: "Other" }, { type: "Denied" }] } },
    is: { State: "Denied" },
  },
  {
    rule: "other kinds have a name and a date",
    of: "things.example.org",
    metadata: { creationTimestamp: "2026-01-01T02:00:00+01:00" },
    is: { Name: "a", "Created At": "2026-01-01T01:00:00Z" },
  },
];

describe("tables", () => {
  for (const { rule, of, object, metadata, is } of rows) {
    test(rule, () => {
      const cells = shown(of, anObject(object, metadata));
      const actual = Object.fromEntries(Object.keys(is).map((name) => [name, cells[name]]));
      assert.deepEqual(actual, is);
    });
  }

  test("every kind has one name column, and a row for an object that has only a name", () => {
    for (const resource of new Set(rows.map((row) => row.of))) {
      const { columnDefinitions, rows: found } = table(resource, [{ metadata: { name: "a", uid: "u" } }]);
      assert.equal(found[0]?.cells.length, columnDefinitions?.length, resource);
      assert.ok(
        columnDefinitions?.some(({ name, format }) => name === "Name" && format === "name"),
        resource,
      );
    }
  });

  test("wide columns have a priority", () => {
    const wide = table("nodes", []).columnDefinitions?.filter((column) => column.priority !== 0);
    assert.deepEqual(
      wide?.map((column) => column.name),
      ["Internal-IP", "External-IP", "OS-Image", "Kernel-Version", "Container-Runtime"],
    );
  });

  test("the object of a row is as requested", () => {
    const object = anObject({ spec: {} });
    const objectIn = (includeObject: "Metadata" | "Object" | "None") =>
      table("pods", [object], { includeObject }).rows[0]?.object;
    assert.deepEqual(objectIn("Object"), object);
    assert.deepEqual(objectIn("Metadata"), {
      kind: "PartialObjectMetadata",
      apiVersion: "meta.k8s.io/v1",
      metadata: object.metadata,
    });
    assert.equal(objectIn("None"), null);
  });

  test("the bookmark after the initial events keeps its annotation", () => {
    const bookmark = {
      metadata: { name: "", uid: "", annotations: { "k8s.io/initial-events-end": "true" } },
    };
    const { rows: found } = table("pods", [bookmark], { includeObject: "None" });
    assert.deepEqual(
      found.map(({ object }) => (object as typeof bookmark).metadata),
      [bookmark.metadata],
    );
  });

  test("headers are omitted if they are not requested", () => {
    assert.equal(table("pods", [], { withHeaders: false }).columnDefinitions, null);
    assert.deepEqual(table("pods", []).rows, []);
  });
});
