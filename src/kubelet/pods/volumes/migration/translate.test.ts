import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { assertGrowth } from "../../../../../test/growth.ts";
import type { VolumeSpec } from "../volume-plugin.ts";
import { migratedPlugins, toCsi } from "./translate.ts";

const gaPrefix = "topology.kubernetes.io";
const betaPrefix = "failure-domain.beta.kubernetes.io";

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
const compact = (source: object) => JSON.parse(JSON.stringify(source));

// parity: volume portworxVolume, volume awsElasticBlockStore, volume azureDisk, volume azureFile, volume cinder, volume gcePersistentDisk
// parity: volume vsphereVolume
describe("a volume of an in-tree type is translated to CSI", () => {
  const uri = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/disks/d";
  const secret = { name: "azure-storage-account-acc-secret", namespace: "ns" };
  const auth = { "openstorage.io/auth-secret-name": "a", "openstorage.io/auth-secret-namespace": "b" };
  const px = { name: "a", namespace: "b" };
  const translations: [string, VolumeSpec, object][] = [
    [
      "an EBS volume with a URL as ID",
      bound({ awsElasticBlockStore: { volumeID: "aws://z1/vol-1", fsType: "ext4", partition: 2 } }),
      {
        driver: "ebs.csi.aws.com",
        volumeHandle: "vol-1",
        fsType: "ext4",
        volumeAttributes: { partition: "2" },
      },
    ],
    [
      "an EBS volume without a zone",
      inline({ awsElasticBlockStore: { volumeID: "aws:///vol-1" } }),
      { driver: "ebs.csi.aws.com", volumeHandle: "vol-1", volumeAttributes: { partition: "0" } },
    ],
    [
      "a GCE disk in a zone",
      bound({ gcePersistentDisk: { pdName: "d" } }, {}, { labels: { [`${gaPrefix}/zone`]: "us-a1-b" } }),
      {
        driver: "pd.csi.storage.gke.io",
        volumeHandle: "projects/UNSPECIFIED/zones/us-a1-b/disks/d",
        volumeAttributes: { partition: "" },
      },
    ],
    [
      "a GCE disk in two zones",
      bound(
        { gcePersistentDisk: { pdName: "d" } },
        {},
        { labels: { [`${betaPrefix}/zone`]: "us-a1-b__us-a1-c" } },
      ),
      {
        driver: "pd.csi.storage.gke.io",
        volumeHandle: "projects/UNSPECIFIED/regions/us-a1/disks/d",
        volumeAttributes: { partition: "" },
      },
    ],
    [
      "an Azure disk",
      bound({ azureDisk: { diskURI: uri, kind: "managed", cachingMode: "None", fsType: "xfs" } }),
      {
        driver: "disk.csi.azure.com",
        volumeHandle: uri,
        fsType: "xfs",
        volumeAttributes: { kind: "Managed", cachingmode: "None", fstype: "xfs" },
      },
    ],
    [
      "an Azure file share",
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
      "an Azure file share with a secret in another namespace",
      bound({ azureFile: { secretName: "x", shareName: "s", secretNamespace: "other" } }),
      {
        driver: "file.csi.azure.com",
        volumeHandle: "#x#s#pv#other",
        volumeAttributes: { sharename: "s" },
        nodeStageSecretRef: { name: "x", namespace: "other" },
      },
    ],
    [
      "an inline Azure file share",
      inline({ azureFile: { secretName: "x", shareName: "s" } }),
      {
        driver: "file.csi.azure.com",
        volumeHandle: "#x#s#v#ns",
        volumeAttributes: { sharename: "s" },
        nodeStageSecretRef: { name: "x", namespace: "ns" },
      },
    ],
    [
      "a Cinder volume",
      bound({ cinder: { volumeID: "id", readOnly: true } }),
      { driver: "cinder.csi.openstack.org", volumeHandle: "id", readOnly: true, volumeAttributes: {} },
    ],
    [
      "a vSphere volume",
      bound({ vsphereVolume: { volumePath: "[ds] a.vmdk", storagePolicyName: "gold" } }),
      {
        driver: "csi.vsphere.vmware.com",
        volumeHandle: "[ds] a.vmdk",
        volumeAttributes: { storagepolicyname: "gold" },
      },
    ],
    [
      "a Portworx volume with its secret",
      bound({ portworxVolume: { volumeID: "id" } }, {}, { annotations: auth }),
      {
        driver: "pxd.portworx.com",
        volumeHandle: "id",
        volumeAttributes: {},
        nodeStageSecretRef: px,
        nodePublishSecretRef: px,
        nodeExpandSecretRef: px,
      },
    ],
  ];
  for (const [what, spec, csi] of translations)
    it(what, () => {
      assert.deepEqual(compact(csiOf(spec)), csi);
      const translated = toCsi(spec, "ns");
      assert.equal(translated.migrated, true);
      assert.deepEqual(toCsi(translated, "ns"), translated, "once");
    });

  it("any other volume is not changed", () => {
    for (const spec of [inline({ emptyDir: {} }), bound({ csi: { driver: "d", volumeHandle: "h" } })])
      assert.equal(toCsi(spec, "ns"), spec);
  });

  it("an identifier with many slashes is read in linear time", () =>
    assertGrowth(1, 1000, (size) => {
      const spec = inline({
        awsElasticBlockStore: { volumeID: `aws://z${"/".repeat(size)}vol-1${"/x".repeat(9)}` },
      });
      return () => assert.throws(() => toCsi(spec, "ns"));
    }));

  it("an invalid source fails with upstream's message", () => {
    const rejected: [VolumeSpec, RegExp][] = [
      [inline({ awsElasticBlockStore: { volumeID: "aws://z/disk" } }), /Invalid format for AWS volume/],
      [
        inline({ azureDisk: { diskURI: uri, kind: "Dedicated" } }),
        /^failed to translate in-tree pv to CSI: kind\(Dedicated\) is not supported in csi migration$/,
      ],
    ];
    for (const [spec, message] of rejected) assert.throws(() => toCsi(spec, "ns"), { message });
  });

  it("an inline volume is named after its disk, with a valid directory name", () => {
    for (const [source, name, mode] of [
      [{ gcePersistentDisk: { pdName: "d", readOnly: true } }, "pd.csi.storage.gke.io-d", "ReadOnlyMany"],
      [{ azureDisk: { diskURI: "/a/b" } }, "~a~b", "ReadWriteOnce"],
      [{ cinder: { volumeID: "id" } }, "cinder.csi.openstack.org-id", "ReadWriteOnce"],
      [{ azureFile: { secretName: "x", shareName: "s" } }, "#x#s#v#ns", "ReadWriteMany"],
    ] as const) {
      const { name: actual, persistent } = toCsi(inline(source), "ns");
      assert.deepEqual([actual, persistent?.volumeName, persistent?.spec.accessModes], [name, name, [mode]]);
      assert.equal(persistent?.claim.name, "");
    }
  });

  it("access modes are translated to those that the GCE driver supports", () => {
    for (const [modes, expected] of [
      [["ReadWriteMany"], "ReadWriteOnce"],
      [["ReadOnlyMany", "ReadWriteOnce"], "ReadWriteOnce"],
      [["ReadOnlyMany"], "ReadOnlyMany"],
    ]) {
      const spec = bound({ gcePersistentDisk: { pdName: "d" } }, { accessModes: modes });
      assert.deepEqual(toCsi(spec, "ns").persistent?.spec.accessModes, [expected]);
    }
  });

  const zones = (key: string, ...values: string[]) => ({ key, operator: "In", values });
  const affinity = (...matchExpressions: object[]) => ({
    required: { nodeSelectorTerms: [{ matchExpressions }] },
  });
  const aws = { awsElasticBlockStore: { volumeID: "vol-1" } };
  const vsphere = { vsphereVolume: { volumePath: "p" } };
  const ebs = "topology.ebs.csi.aws.com/zone";
  const topologies: [string, VolumeSpec, object | undefined][] = [
    [
      "a zone in the affinity",
      bound(aws, { nodeAffinity: affinity(zones(`${gaPrefix}/zone`, "z")) }),
      affinity(zones(ebs, "z")),
    ],
    [
      "a zone and a region with beta labels",
      bound(aws, {
        nodeAffinity: affinity(zones(`${betaPrefix}/zone`, "z"), zones(`${betaPrefix}/region`, "r")),
      }),
      affinity(zones(ebs, "z"), zones(`${gaPrefix}/region`, "r")),
    ],
    [
      "zones in a label",
      bound(aws, {}, { labels: { [`${gaPrefix}/zone`]: "b__a" } }),
      affinity(zones(ebs, "a", "b")),
    ],
    [
      "a label and other requirements",
      bound(aws, { nodeAffinity: affinity(zones("rack", "1")) }, { labels: { [`${gaPrefix}/zone`]: "z" } }),
      affinity(zones("rack", "1"), zones(ebs, "z")),
    ],
    [
      "zone and region, for a driver with both",
      bound(vsphere, {}, { labels: { [`${gaPrefix}/zone`]: "z", [`${gaPrefix}/region`]: "r" } }),
      affinity(zones("topology.csi.vmware.com/zone", "z"), zones("topology.csi.vmware.com/region", "r")),
    ],
    ["nothing", bound(aws), undefined],
  ];
  for (const [what, spec, expected] of topologies)
    it(`topology: ${what}`, () =>
      assert.deepEqual(toCsi(spec, "ns").persistent?.spec.nodeAffinity, expected));

  it("all migrated plugins are listed", () =>
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
