import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, open, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { readMounts } from "../../src/lib/host/mount-table.ts";
import type { Pod } from "../../src/lib/model/pod.ts";
import { nodeName } from "../cluster/cluster-node.ts";
import { waitFor } from "../e2e/wait-for.ts";
import type { LoopDevice } from "./loop-device.ts";
import type { VolumeNode, VolumePod, VolumeSuite } from "./volume-node.ts";

const claims = "/api/v1/namespaces/default/persistentvolumeclaims";
const volumes = "/api/v1/persistentvolumes";
const capacity = { storage: "16Mi" };

/** Two disks: one is used as a block device, one gets a filesystem. */
export interface Disks {
  readonly raw: LoopDevice;
  readonly formatted: LoopDevice;
}

export function onNode(name: string): object {
  const matchExpressions = [{ key: "kubernetes.io/hostname", operator: "In", values: [name] }];
  return { nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions }] } } };
}

interface ClaimInit {
  readonly mode?: "Block";
  readonly owner?: Pod;
}

/** A PersistentVolume, and a PVC that is bound to it. */
export async function boundVolume(n: VolumeNode, name: string, pv: object, o: ClaimInit = {}): Promise<void> {
  const common = {
    accessModes: ["ReadWriteOnce"],
    storageClassName: "",
    ...(o.mode && { volumeMode: o.mode }),
  };
  const claimRef = { namespace: "default", name };
  await n.create(volumes, {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name: `pv-${name}` },
    spec: { ...common, capacity, claimRef, persistentVolumeReclaimPolicy: "Retain", ...pv },
  });
  const ownerReferences = o.owner && [
    {
      apiVersion: "v1",
      kind: "Pod",
      name: o.owner.metadata.name,
      uid: o.owner.metadata.uid,
      controller: true,
    },
  ];
  await n.create(claims, {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name, ownerReferences },
    spec: { ...common, volumeName: `pv-${name}`, resources: { requests: capacity } },
  });
}

const claimed = (...names: string[]) =>
  names.map((name) => ({ name, persistentVolumeClaim: { claimName: name } }));
const mounted = (...names: string[]) => names.map((name) => ({ name, mountPath: `/v/${name}` }));

const withDisks: VolumePod = {
  spec: {
    volumes: claimed("raw", "formatted"),
    containers: [
      {
        volumeDevices: [{ name: "raw", devicePath: "/dev/xraw" }],
        volumeMounts: mounted("formatted"),
      },
    ],
  },
};

/** Volumes behind PVCs: local, hostPath, generic ephemeral and block volumes. Volumes on disks are tested only if the machine has loop devices. */
export const persistent = (disks: () => Disks | undefined): VolumeSuite => ({
  title: "PersistentVolumes",

  async prepare(n) {
    for (const name of ["local", "host", "passing"])
      await mkdir(join(n.dir, "pv", name), { recursive: true });
    const path = (name: string) => join(n.dir, "pv", name);
    await boundVolume(n, "local", { local: { path: path("local") }, ...onNode(nodeName) });
    await boundVolume(n, "host", { hostPath: { path: path("host"), type: "Directory" } });
    await n.addPod("claimed", {
      spec: { volumes: claimed("local", "host"), containers: [{ volumeMounts: mounted("local", "host") }] },
    });
    await n.addPod("claimed-read-only", {
      spec: {
        volumes: [{ name: "local", persistentVolumeClaim: { claimName: "local", readOnly: true } }],
        containers: [{ volumeMounts: mounted("local") }],
      },
    });
    const passing = await n.addPod("passing", {
      spec: {
        nodeName,
        volumes: [
          {
            name: "own",
            ephemeral: {
              volumeClaimTemplate: {
                spec: { accessModes: ["ReadWriteOnce"], resources: { requests: capacity } },
              },
            },
          },
        ],
        containers: [{ volumeMounts: mounted("own") }],
      },
    });
    await boundVolume(
      n,
      "passing-own",
      { local: { path: path("passing") }, ...onNode(nodeName) },
      { owner: passing },
    );
    await boundVolume(n, "elsewhere", { local: { path: path("local") }, ...onNode("another-node") });
    await n.addPod("astray", {
      spec: { nodeName, volumes: claimed("elsewhere"), containers: [{ volumeMounts: mounted("elsewhere") }] },
    });
    const disk = disks();
    if (!disk) return;
    await boundVolume(n, "raw", { local: { path: disk.raw.path }, ...onNode(nodeName) }, { mode: "Block" });
    await boundVolume(n, "formatted", {
      local: { path: disk.formatted.path, fsType: "ext4" },
      ...onNode(nodeName),
    });
    await n.addPod("disks", withDisks);
  },

  tests(node) {
    const onHost = (...path: string[]) => join(node().dir, "pv", ...path);

    // parity: volume persistentVolumeClaim, volume local
    test("a local directory and a hostPath are read and written through a PVC", async () => {
      await node().runs("claimed");
      await writeFile(onHost("local", "a"), "by the node");
      assert.equal(await node().inside("claimed", "cat /v/local/a"), "by the node");
      await node().inside("claimed", "echo 1 >/v/local/b; echo 2 >/v/host/b");
      assert.deepEqual(
        [await readFile(onHost("local", "b"), "utf8"), await readFile(onHost("host", "b"), "utf8")],
        ["1\n", "2\n"],
      );
    });

    test("a PVC that is mounted read-only cannot be written to, and shows the changes of other pods", async () => {
      await node().runs("claimed-read-only");
      assert.equal(await node().inside("claimed-read-only", "cat /v/local/b"), "1");
      assert.match(
        await node().failsInside("claimed-read-only", "touch /v/local/x"),
        /Read-only file system/,
      );
    });

    // parity: volume ephemeral
    test("a generic ephemeral volume uses the PVC created for the pod", async () => {
      await node().runs("passing");
      await node().inside("passing", "echo mine >/v/own/x");
      assert.equal(await readFile(onHost("passing", "x"), "utf8"), "mine\n");
    });

    test("a PVC that is missing, or whose volume is not for this node, is reported by an event that names the cause", async () => {
      await node().addPod("unbound", {
        spec: { nodeName, volumes: claimed("nothing"), containers: [{ volumeMounts: mounted("nothing") }] },
      });
      await node().hasEvent(
        "unbound",
        "FailedMount",
        'Unable to attach or mount volumes: unmounted volumes=[nothing], unattached volumes=[], failed to process volumes=[nothing]: error processing PVC default/nothing: failed to fetch PVC from API server: persistentvolumeclaims "nothing" not found',
      );
      await node().hasEvent(
        "astray",
        "FailedMount",
        'MountVolume.NodeAffinity check failed for volume "pv-elsewhere" : no matching NodeSelectorTerms',
      );
    });

    test("a pod whose PVC is created later runs as soon as it exists", async () => {
      await mkdir(onHost("late"));
      await boundVolume(node(), "nothing", { local: { path: onHost("late") }, ...onNode(nodeName) });
      await node().runs("unbound");
    });

    test("a block volume is passed unchanged, and a disk without a filesystem is formatted", async (t) => {
      const disk = disks();
      if (!disk) return t.skip("no loop devices");
      const pod = await node().runs("disks");
      await node().inside("disks", "printf from-inside | dd of=/dev/xraw bs=4096 conv=fsync,notrunc");
      const file = await open(disk.raw.file);
      const { buffer } = await file.read(Buffer.alloc(11), 0, 11, 0);
      await file.close();
      assert.equal(buffer.toString(), "from-inside");
      await node().inside("disks", "echo kept >/v/formatted/x");
      const mount = (await node().mountsInside("disks")).find(({ path }) => path === "/v/formatted");
      assert.deepEqual([mount?.fsType, mount?.source], ["ext4", disk.formatted.path]);
      await node().hasEvent(
        "disks",
        "SuccessfulMountVolume",
        /^MapVolume.MapPodDevice succeeded for volume "pv-raw" /,
      );
      await node().deletePod("disks");
      await node().isGone(pod);
      await waitFor(() => assert.ok(!readMounts().some(({ source }) => source === disk.formatted.path)));
      const plugins = join(node().apiNode.node.rootDir, "plugins");
      await waitFor(() =>
        assert.ok(!existsSync(join(plugins, "kubernetes.io/local-volume/mounts/pv-formatted"))),
      );
      await node().addPod("disks", withDisks);
      await node().runs("disks");
      assert.equal(
        await node().inside("disks", "cat /v/formatted/x; head -c 11 /dev/xraw"),
        "kept\nfrom-inside",
      );
    });
  },
});
