import assert from "node:assert/strict";
import { it } from "node:test";
import { Attachments } from "../../src/kubelet/pods/volumes/csi/attachments.ts";
import { CsiDriverObjects } from "../../src/kubelet/pods/volumes/csi/csi-drivers.ts";
import { CsiNode } from "../../src/kubelet/pods/volumes/csi/csi-node.ts";
import type { CsiNodeObject } from "../../src/kubelet/pods/volumes/csi/csi-node-plan.ts";
import { kubeSecrets } from "../../src/kubelet/pods/volumes/csi/kube-secrets.ts";
import { attachmentName } from "../../src/kubelet/pods/volumes/csi/names.ts";
import { resolveClaim } from "../../src/kubelet/pods/volumes/persistent/resolve-volume.ts";
import { kubeVolumeApi } from "../../src/kubelet/pods/volumes/persistent/volume-api.ts";
import { VolumeExpander } from "../../src/kubelet/pods/volumes/persistent/volume-expander.ts";
import { systemClock } from "../../src/lib/base/clock.ts";
import { silentLogger } from "../../src/lib/base/logger.ts";
import { fakePod } from "../../src/lib/model/fake-pod.ts";
import { nodeName } from "../cluster/cluster-node.ts";
import { startEmbeddedApi } from "../cluster/embedded-api.ts";
import { eventually } from "../contracts/eventually.ts";

const claims = "/api/v1/namespaces/default/persistentvolumeclaims";
const driver = "csi.example.com";
const spec = (storage: string) => ({
  accessModes: ["ReadWriteOnce"],
  resources: { requests: { storage } },
  storageClassName: "",
  volumeName: "pv-1",
});

it("a node is authorized for all API requests of CSI volumes, and its writes are valid", async (t) => {
  const { cluster, admin, rejected } = await startEmbeddedApi(t);
  const { transport } = cluster;
  const stop = new AbortController();
  t.after(() => stop.abort());
  const { signal } = stop;
  const common = { clock: systemClock, logger: silentLogger };
  const create = (path: string, body: object) =>
    admin.request<{ metadata: { uid: string } }>({ method: "POST", path, body });
  const find = <T>(path: string) => admin.request<T>({ method: "GET", path });

  // The node reports its drivers.
  await create("/api/v1/nodes", { apiVersion: "v1", kind: "Node", metadata: { name: nodeName } });
  const csiNode = new CsiNode({ transport, nodeName, ...common });
  await csiNode.start(signal);
  await eventually(() => (csiNode.health().ok ? true : undefined));
  const topology = { "topology.csi.example.com/zone": "z1" };
  await csiNode.install(driver, { nodeId: "me", maxVolumes: 9n, topology }, signal);
  const own = await find<CsiNodeObject>(`/apis/storage.k8s.io/v1/csinodes/${nodeName}`);
  assert.equal(own.spec.drivers?.[0]?.allocatable?.count, 9);
  const node = await find<{ metadata: { labels: object; annotations: object } }>(`/api/v1/nodes/${nodeName}`);
  assert.deepEqual(node.metadata.labels, { ...node.metadata.labels, ...topology });

  // It watches the CSIDriver objects.
  const drivers = new CsiDriverObjects({ transport, ...common });
  await drivers.start(signal);
  const csiDriver = {
    apiVersion: "storage.k8s.io/v1",
    kind: "CSIDriver",
    metadata: { name: driver },
    spec: {},
  };
  await create("/apis/storage.k8s.io/v1/csidrivers", csiDriver);
  const object = await eventually(() => drivers.known(driver));
  assert.equal(object.attachRequired, true);
  assert.equal(object.fsGroupPolicy, "ReadWriteOnceWithFSType");

  // A pod of the node has a bound PVC, with a Secret and a VolumeAttachment.
  const namespace = (name: string) =>
    create("/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name } });
  await Promise.all(["default", "kube-system"].map(namespace));
  await create("/api/v1/namespaces/default/serviceaccounts", {
    apiVersion: "v1",
    kind: "ServiceAccount",
    metadata: { name: "default" },
  });
  const secret = { name: "s", namespace: "kube-system" };
  await create("/api/v1/namespaces/kube-system/secrets", {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "s" },
    data: { key: "dmFsdWU=" },
  });
  const { uid } = (
    await create(claims, {
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      metadata: { name: "c" },
      spec: spec("1Gi"),
    })
  ).metadata;
  await create("/api/v1/persistentvolumes", {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name: "pv-1" },
    spec: {
      accessModes: ["ReadWriteOnce"],
      capacity: { storage: "2Gi" },
      claimRef: { kind: "PersistentVolumeClaim", namespace: "default", name: "c", uid },
      persistentVolumeReclaimPolicy: "Retain",
      csi: { driver, volumeHandle: "h", nodePublishSecretRef: secret },
    },
  });
  const claimStatus = {
    phase: "Bound",
    accessModes: ["ReadWriteOnce"],
    capacity: { storage: "1Gi" },
    allocatedResources: { storage: "2Gi" },
    allocatedResourceStatuses: { storage: "NodeResizePending" },
    conditions: [{ type: "FileSystemResizePending", status: "True" }],
  };
  await admin.request({
    method: "PATCH",
    path: `${claims}/c/status`,
    contentType: "application/merge-patch+json",
    body: { status: claimStatus },
  });
  const volume = { name: "data", persistentVolumeClaim: { claimName: "c" } };
  const pod = fakePod({ metadata: { name: "web" }, spec: { nodeName, volumes: [volume] } });
  const { uid: _, ...metadata } = pod.metadata;
  await create("/api/v1/namespaces/default/pods", { ...pod, metadata });
  const attachment = attachmentName("h", driver, nodeName);
  await create("/apis/storage.k8s.io/v1/volumeattachments", {
    apiVersion: "storage.k8s.io/v1",
    kind: "VolumeAttachment",
    metadata: { name: attachment },
    spec: { attacher: driver, nodeName, source: { persistentVolumeName: "pv-1" } },
  });
  await admin.request({
    method: "PATCH",
    path: `/apis/storage.k8s.io/v1/volumeattachments/${attachment}/status`,
    contentType: "application/merge-patch+json",
    body: { status: { attached: true, attachmentMetadata: { device: "sdx" } } },
  });

  // The node may read these only after the authorizer has seen the pod.
  const api = kubeVolumeApi(transport);
  const resolved = await eventually(() => resolveClaim(api, pod, volume, signal).catch(() => undefined));
  assert.equal(resolved.spec.persistent?.spec.csi.volumeHandle, "h");
  rejected.length = 0;
  const source = { driver, handle: "h" };
  const attachments = new Attachments({ transport, nodeName, objects: drivers, clock: systemClock });
  await attachments.wait(source, signal);
  assert.deepEqual(await attachments.publishContext(source, signal), { device: "sdx" });
  assert.deepEqual(await kubeSecrets(transport).get(secret, signal), { key: "value" });

  // It records the new size of the volume in the PVC.
  const events = { normal: () => {}, warning: () => {} };
  const expander = new VolumeExpander({ claimEvents: { normal() {}, warning() {} }, api, events, ...common });
  assert.equal(expander.mayBeNeeded(resolved.spec), true);
  await expander.expandIfNeeded(pod, resolved.spec, async () => {}, signal);
  const { status } = await find<{ status: typeof claimStatus }>(`${claims}/c`);
  assert.deepEqual(status.capacity, { storage: "2Gi" });
  assert.deepEqual(status.conditions ?? [], []);
  assert.deepEqual(status.allocatedResourceStatuses ?? {}, {});

  await csiNode.uninstall(driver, signal);
  assert.deepEqual(
    (await find<CsiNodeObject>(`/apis/storage.k8s.io/v1/csinodes/${nodeName}`)).spec.drivers ?? [],
    [],
  );
  assert.deepEqual(rejected, []);
});
