import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { VolumeSpec } from "../volume-plugin.ts";
import { migratedPlugins, toCsi } from "./translate.ts";

const gaLabels = "topology.kubernetes.io";
const betaLabels = "failure-domain.beta.kubernetes.io";

function inline(source: object): VolumeSpec {
  return { name: "v", volume: { name: "v", ...source }, readOnly: false };
}

function bound(source: object, more: object = {}, meta: object = {}): VolumeSpec {
  return {
    name: "pv",
    volume: { name: "v", persistentVolumeClaim: { claimName: "c" } },
    readOnly: false,
    persistent: {
      volumeName: "pv",
      spec: { ...source, accessModes: ["ReadWriteOnce"], ...more },
      claim: { namespace: "ns", name: "c", uid: "u" },
      mode: "Filesystem",
      ...meta,
    },
  };
}

const csiOf = (spec: VolumeSpec) => toCsi(spec, "ns").persistent?.spec.csi;
const compact = (translate: object) => JSON.parse(JSON.stringify(translate));

describe("a volume of a type of former days is one of a CSI driver", () => {
  const uri = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/disks/d";
  const secret = { name: "azure-storage-account-acc-secret", namespace: "ns" };
  const auth = { "openstorage.io/auth-secret-name": "a", "openstorage.io/auth-secret-namespace": "b" };
  const px = { name: "a", namespace: "b" };
  const translate: [string, VolumeSpec, object][] = [
    [
      "a disk of EC2, whatever its name begins with",
      bound({ awsElasticBlockStore: { volumeID: "aws://z1/vol-1", fsType: "ext4", partition: 2 } }),
      {
        driver: "ebs.csi.aws.com",
        volumeHandle: "vol-1",
        fsType: "ext4",
        volumeAttributes: { partition: "2" },
      },
    ],
    [
      "without a zone",
      inline({ awsElasticBlockStore: { volumeID: "aws:///vol-1" } }),
      { driver: "ebs.csi.aws.com", volumeHandle: "vol-1", volumeAttributes: { partition: "0" } },
    ],
    [
      "a disk of GCE in a zone",
      bound({ gcePersistentDisk: { pdName: "d" } }, {}, { labels: { [`${gaLabels}/zone`]: "us-a1-b" } }),
      {
        driver: "pd.csi.storage.gke.io",
        volumeHandle: "projects/UNSPECIFIED/zones/us-a1-b/disks/d",
        volumeAttributes: { partition: "" },
      },
    ],
    [
      "in two zones",
      bound(
        { gcePersistentDisk: { pdName: "d" } },
        {},
        { labels: { [`${betaLabels}/zone`]: "us-a1-b__us-a1-c" } },
      ),
      {
        driver: "pd.csi.storage.gke.io",
        volumeHandle: "projects/UNSPECIFIED/regions/us-a1/disks/d",
        volumeAttributes: { partition: "" },
      },
    ],
    [
      "a disk of Azure",
      bound({ azureDisk: { diskURI: uri, kind: "managed", cachingMode: "None", fsType: "xfs" } }),
      {
        driver: "disk.csi.azure.com",
        volumeHandle: uri,
        fsType: "xfs",
        volumeAttributes: { kind: "Managed", cachingmode: "None", fstype: "xfs" },
      },
    ],
    [
      "a share of Azure",
      bound(
        { azureFile: { secretName: secret.name, shareName: "s" } },
        {},
        { annotations: { "kubernetes.io/azure-file-resource-group": "rg" } },
      ),
      {
        driver: "file.csi.azure.com",
        volumeHandle: "rg#acc#s#pv#ns",
        volumeAttributes: { sharename: "s" },
        nodeStageSecretRef: secret,
      },
    ],
    [
      "its secret elsewhere",
      bound({ azureFile: { secretName: "x", shareName: "s", secretNamespace: "other" } }),
      {
        driver: "file.csi.azure.com",
        volumeHandle: "#x#s#pv#other",
        volumeAttributes: { sharename: "s" },
        nodeStageSecretRef: { name: "x", namespace: "other" },
      },
    ],
    [
      "in a pod",
      inline({ azureFile: { secretName: "x", shareName: "s" } }),
      {
        driver: "file.csi.azure.com",
        volumeHandle: "#x#s#v#ns",
        volumeAttributes: { sharename: "s" },
        nodeStageSecretRef: { name: "x", namespace: "ns" },
      },
    ],
    [
      "a disk of OpenStack",
      bound({ cinder: { volumeID: "id", readOnly: true } }),
      { driver: "cinder.csi.openstack.org", volumeHandle: "id", readOnly: true, volumeAttributes: {} },
    ],
    [
      "a disk of vSphere",
      bound({ vsphereVolume: { volumePath: "[ds] a.vmdk", storagePolicyName: "gold" } }),
      {
        driver: "csi.vsphere.vmware.com",
        volumeHandle: "[ds] a.vmdk",
        volumeAttributes: { storagepolicyname: "gold" },
      },
    ],
    [
      "a volume of Portworx, with its secret",
      bound({ portworxVolume: { volumeID: "id" } }, {}, { annotations: auth }),
      {
        driver: "pxd.portworx.com",
        volumeHandle: "id",
        volumeAttributes: {},
        ...{ nodeStageSecretRef: px, nodePublishSecretRef: px, nodeExpandSecretRef: px },
      },
    ],
  ];
  for (const [what, spec, csi] of translate)
    it(what, () => {
      assert.deepEqual(compact(csiOf(spec)), csi);
      const translated = toCsi(spec, "ns");
      assert.equal(translated.migrated, true);
      assert.deepEqual(toCsi(translated, "ns"), translated, "once");
    });

  it("any other is left as it is", () => {
    for (const spec of [inline({ emptyDir: {} }), bound({ csi: { driver: "d", volumeHandle: "h" } })])
      assert.equal(toCsi(spec, "ns"), spec);
  });

  it("one that names no disk is refused with the words that users know", () => {
    const refused: [VolumeSpec, RegExp][] = [
      [inline({ awsElasticBlockStore: { volumeID: "aws://z/disk" } }), /Invalid format for AWS volume/],
      [
        inline({ azureDisk: { diskURI: uri, kind: "Dedicated" } }),
        /^failed to translate in-tree pv to CSI: kind\(Dedicated\) is not supported in csi migration$/,
      ],
    ];
    for (const [spec, message] of refused) assert.throws(() => toCsi(spec, "ns"), { message });
  });

  it("in a pod it is named after its disk, and its name fits a folder", () => {
    for (const [source, name, mode] of [
      [{ gcePersistentDisk: { pdName: "d", readOnly: true } }, "pd.csi.storage.gke.io-d", "ReadOnlyMany"],
      [{ azureDisk: { diskURI: "/a/b" } }, "~a~b", "ReadWriteOnce"],
      [{ cinder: { volumeID: "id" } }, "cinder.csi.openstack.org-id", "ReadWriteOnce"],
      [{ azureFile: { secretName: "x", shareName: "s" } }, "#x#s#v#ns", "ReadWriteMany"],
    ] as const) {
      const { name: told, persistent } = toCsi(inline(source), "ns");
      assert.deepEqual([told, persistent?.volumeName, persistent?.spec.accessModes], [name, name, [mode]]);
      assert.equal(persistent?.claim.name, "");
    }
  });

  it("modes that the driver of GCE refuses come to what it takes", () => {
    for (const [modes, wanted] of [
      [["ReadWriteMany"], "ReadWriteOnce"],
      [["ReadOnlyMany", "ReadWriteOnce"], "ReadWriteOnce"],
      [["ReadOnlyMany"], "ReadOnlyMany"],
    ]) {
      const spec = bound({ gcePersistentDisk: { pdName: "d" } }, { accessModes: modes });
      assert.deepEqual(toCsi(spec, "ns").persistent?.spec.accessModes, [wanted]);
    }
  });

  const zones = (key: string, ...values: string[]) => ({ key, operator: "In", values });
  const affinity = (...matchExpressions: object[]) => ({
    required: { nodeSelectorTerms: [{ matchExpressions }] },
  });
  const aws = { awsElasticBlockStore: { volumeID: "vol-1" } };
  const vsphere = { vsphereVolume: { volumePath: "p" } };
  const ebs = "topology.ebs.csi.aws.com/zone";
  const places: [string, VolumeSpec, object | undefined][] = [
    [
      "a zone of today",
      bound(aws, { nodeAffinity: affinity(zones(`${gaLabels}/zone`, "z")) }),
      affinity(zones(ebs, "z")),
    ],
    [
      "a zone and a region of former days",
      bound(aws, {
        nodeAffinity: affinity(zones(`${betaLabels}/zone`, "z"), zones(`${betaLabels}/region`, "r")),
      }),
      affinity(zones(ebs, "z"), zones(`${gaLabels}/region`, "r")),
    ],
    [
      "zones by label only",
      bound(aws, {}, { labels: { [`${gaLabels}/zone`]: "b__a" } }),
      affinity(zones(ebs, "a", "b")),
    ],
    [
      "a label besides other rules",
      bound(aws, { nodeAffinity: affinity(zones("rack", "1")) }, { labels: { [`${gaLabels}/zone`]: "z" } }),
      affinity(zones("rack", "1"), zones(ebs, "z")),
    ],
    [
      "zone and region, for a driver that knows both",
      bound(vsphere, {}, { labels: { [`${gaLabels}/zone`]: "z", [`${gaLabels}/region`]: "r" } }),
      affinity(zones("topology.csi.vmware.com/zone", "z"), zones("topology.csi.vmware.com/region", "r")),
    ],
    ["nothing", bound(aws), undefined],
  ];
  for (const [what, spec, wanted] of places)
    it(`where it is, in the driver's words: ${what}`, () =>
      assert.deepEqual(toCsi(spec, "ns").persistent?.spec.nodeAffinity, wanted));

  it("the cluster is told of all of them", () =>
    assert.deepEqual(migratedPlugins, [
      "kubernetes.io/aws-ebs",
      "kubernetes.io/azure-disk",
      "kubernetes.io/azure-file",
      "kubernetes.io/cinder",
      "kubernetes.io/gce-pd",
      "kubernetes.io/portworx-volume",
      "kubernetes.io/vsphere-volume",
    ]));
});
