import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { silentLogger } from "../../../../lib/base/logger.ts";
import { type MountPoint, parseMountinfo } from "../../../../lib/host/mount-table.ts";
import { fakePod } from "../../../../lib/model/fake-pod.ts";
import type { Volume } from "../../../../lib/model/pod.ts";
import { contentPlugins } from "../content/content-plugins.ts";
import { csiPlugin } from "../csi/csi-plugin.ts";
import { emptyDirPlugin } from "../empty-dir/empty-dir.ts";
import { fcPlugin } from "../fc/fc-plugin.ts";
import { hostPathPlugin } from "../host-path/host-path.ts";
import { iscsiPlugin } from "../iscsi/iscsi-plugin.ts";
import { localPlugin } from "../local/local.ts";
import { nfsPlugin } from "../nfs/nfs-plugin.ts";
import type { VolumePlugin, VolumeSpec } from "../volume-plugin.ts";
import { containerMounts } from "./container-mounts.ts";

const path = "/var/lib/kubelet/pods/u/volumes/type/data";
/** As on a host with SELinux: the root filesystem stores labels. */
const root = "22 1 8:1 / / rw,relatime shared:1 - xfs /dev/sda1 rw,seclabel,attr2";
const volumeMount = (fsType: string, options: string) =>
  `40 22 8:16 / ${path} rw - ${fsType} source ${options}`;
const tableOf = (...lines: string[]): MountPoint[] => parseMountinfo(lines.join("\n"));

const inline = (volume: Partial<Volume>, readOnly = false): VolumeSpec => ({
  name: "data",
  volume: { name: "data", ...volume },
  readOnly,
});
const persistent = (source: object, readOnly = false): VolumeSpec => ({
  ...inline({ persistentVolumeClaim: { claimName: "c" } }, readOnly),
  persistent: {
    volumeName: "pv",
    spec: source,
    claim: { namespace: "default", name: "c", uid: "u" },
    mode: "Filesystem",
  },
});

function pluginsOf(table: readonly MountPoint[]): VolumePlugin[] {
  const options = { rootDir: "/var/lib/kubelet", mounts: { list: () => table } } as never;
  return [
    emptyDirPlugin(options),
    hostPathPlugin(options),
    localPlugin(options),
    nfsPlugin(options),
    iscsiPlugin(options),
    fcPlugin(options),
    csiPlugin(options),
    ...contentPlugins(options),
  ];
}

async function isRelabeled(spec: VolumeSpec, table: readonly MountPoint[], selinux = true, label = "") {
  const plugin = pluginsOf(table).find((candidate) => candidate.handles(spec));
  assert.ok(plugin);
  const volume = {
    name: "data",
    volumeMode: "Filesystem" as const,
    path,
    dir: path,
    dirName: "data",
    gid: undefined,
    label,
  };
  const [mount] = await containerMounts(
    fakePod(),
    { name: "c", volumeMounts: [{ name: "data", mountPath: "/data" }] },
    new Map(),
    {
      mounted: () => ({ ...volume, spec, plugin }),
      subPaths: { prepare: () => assert.fail("no subPath") },
      guard: { run: (_key, work) => work() },
      logger: silentLogger,
      selinux,
      recursiveReadOnly: () => true,
    },
    { signal: new AbortController().signal, sandbox: async () => ({}) },
  );
  return mount?.selinuxRelabel;
}

describe("on a node with SELinux the runtime relabels the files of", () => {
  const csi = { csi: { driver: "d", volumeHandle: "h" } };
  const iscsi = { iscsi: { targetPortal: "10.0.0.1:3260", iqn: "iqn.2001-04.com.example:a", lun: 0 } };
  const fc = { fc: { targetWWNs: ["50060e801049cfd1"], lun: 0 } };
  const nfs = { nfs: { server: "s", path: "/" } };
  const labeled = volumeMount("ext4", "rw,seclabel");
  const rows: [what: string, spec: VolumeSpec, mount: string | undefined, expected: boolean][] = [
    ["an emptyDir", inline({ emptyDir: {} }), undefined, true],
    ["a Secret", inline({ secret: { secretName: "s" } }), undefined, true],
    ["a projected volume", inline({ projected: { sources: [] } }), undefined, true],
    ["no hostPath", inline({ hostPath: { path: "/data" } }), undefined, false],
    ["a local volume", persistent({ local: { path: "/data" } }), undefined, true],
    ["no local volume that is read-only", persistent({ local: { path: "/data" } }, true), undefined, false],
    ["an iSCSI volume", inline(iscsi as never), labeled, true],
    ["an iSCSI PersistentVolume", persistent(iscsi), labeled, true],
    ["no iSCSI volume that is read-only", persistent(iscsi, true), labeled, false],
    ["a Fibre Channel PersistentVolume", persistent(fc), labeled, true],
    ["no NFS volume", inline(nfs), volumeMount("nfs4", "rw,seclabel"), false],
    ["no NFS PersistentVolume", persistent(nfs), volumeMount("nfs4", "rw,seclabel"), false],
    ["a CSI PersistentVolume that stores labels", persistent(csi), labeled, true],
    ["an inline CSI volume that stores labels", inline({ csi: { driver: "d" } }), labeled, true],
    ["an inline CSI volume on the node's disk", inline({ csi: { driver: "d" } }), undefined, true],
    ["no CSI volume without labels", persistent(csi), volumeMount("nfs4", "rw,vers=4.2"), false],
    [
      "no CSI volume with one label for all files",
      persistent(csi),
      volumeMount("ext4", "rw,context=system_u:object_r:container_file_t:s0:c1,c2"),
      false,
    ],
    ["no CSI volume that is read-only", persistent(csi, true), labeled, false],
  ];
  for (const [what, spec, mount, expected] of rows)
    it(what, async () => {
      const table = tableOf(root, ...(mount === undefined ? [] : [mount]));
      assert.equal(await isRelabeled(spec, table), expected);
    });

  it("nothing that is mounted with a label, even if a driver ignored it", async () => {
    const table = tableOf(root, labeled);
    for (const spec of [persistent(csi), persistent(iscsi), persistent(fc)])
      assert.equal(await isRelabeled(spec, table, true, "u:object_r:t:s0:c1,c2"), false);
  });

  it("nothing without SELinux", async () => {
    assert.equal(await isRelabeled(persistent(csi), tableOf(root, labeled), false), false);
  });
});
