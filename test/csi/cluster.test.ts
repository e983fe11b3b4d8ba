import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { it } from "node:test";
import { PluginManager } from "../../src/kubelet/plugins/plugin-manager.ts";
import { csiVolumes } from "../../src/kubelet/pods/volumes/csi/csi-volumes.ts";
import { BlockMaps } from "../../src/kubelet/pods/volumes/manager/block-maps.ts";
import { VolumeOperations } from "../../src/kubelet/pods/volumes/manager/operations.ts";
import { VolumeManager } from "../../src/kubelet/pods/volumes/manager/volume-manager.ts";
import { kubeVolumeApi } from "../../src/kubelet/pods/volumes/persistent/volume-api.ts";
import { VolumeExpander } from "../../src/kubelet/pods/volumes/persistent/volume-expander.ts";
import { systemClock } from "../../src/lib/base/clock.ts";
import { silentLogger } from "../../src/lib/base/logger.ts";
import { createMetrics } from "../../src/lib/base/metrics.ts";
import { mountsBelow } from "../../src/lib/host/mount-table.ts";
import { hostMounts } from "../../src/lib/host/mounts.ts";
import { fakePod } from "../../src/lib/model/fake-pod.ts";
import { nodeName } from "../cluster/cluster-node.ts";
import { startEmbeddedApi } from "../cluster/embedded-api.ts";
import { eventually } from "../contracts/eventually.ts";
import { DriverProcess } from "./driver-process.ts";

const skip = process.getuid?.() !== 0 && "mounts need root";
const driver = "csi.example.com";

it("a pod created before its driver gets its inline volume when the driver registers", {
  skip,
}, async (t) => {
  const { cluster, admin, rejected } = await startEmbeddedApi(t);
  const rootDir = await mkdtemp("/tmp/csi-cluster-");
  const abort = new AbortController();
  const common = { clock: systemClock, logger: silentLogger, metrics: createMetrics() };
  const events = { normal: () => {}, warning: () => {} };
  const create = (path: string, body: object) => admin.request({ method: "POST", path, body });
  await create("/api/v1/nodes", { apiVersion: "v1", kind: "Node", metadata: { name: nodeName } });
  await create("/apis/storage.k8s.io/v1/csidrivers", {
    apiVersion: "storage.k8s.io/v1",
    kind: "CSIDriver",
    metadata: { name: driver },
    spec: { attachRequired: false, podInfoOnMount: true, volumeLifecycleModes: ["Ephemeral"] },
  });

  const csi = csiVolumes({
    ...common,
    rootDir,
    nodeName,
    transport: cluster.transport,
    tokens: undefined,
    mounts: hostMounts,
    ownership: { apply: async () => {} },
    expander: new VolumeExpander({
      ...common,
      api: kubeVolumeApi(cluster.transport),
      events,
      claimEvents: events,
    }),
    onDriver: () => manager.resync(({ plugin }) => plugin === csi.plugin.name),
  });
  const blockMaps = new BlockMaps({ mounts: hostMounts });
  const operations = new VolumeOperations({ events, blockMaps, cleanSubPaths: async () => {} });
  const manager = new VolumeManager({ ...common, rootDir, plugins: [csi.plugin], operations, events });
  const dir = join(rootDir, "plugins_registry");
  const plugins = new PluginManager({ ...common, dir, handlers: { CSIPlugin: csi.registration } });
  const process = new DriverProcess({
    name: driver,
    stateDir: join(rootDir, "state"),
    endpoint: join(rootDir, "plugins", driver, "csi.sock"),
    registrationSocket: join(dir, "reg.sock"),
  });
  t.after(async () => {
    abort.abort();
    await process.kill();
    await Promise.all([plugins.done, manager.done, ...csi.components.map((part) => part.done)]);
    for (const path of mountsBelow(hostMounts.list(), [rootDir])) await hostMounts.unmount(path);
    await rm(rootDir, { recursive: true, force: true });
  });

  for (const part of [...csi.components, manager, plugins]) await part.start(abort.signal);
  const pod = fakePod({
    spec: {
      volumes: [{ name: "scratch", csi: { driver } }],
      containers: [{ volumeMounts: [{ name: "scratch", mountPath: "/scratch" }] }],
    },
  });
  const { uid } = pod.metadata;
  const waiting = manager.waitFor(pod, abort.signal);
  const why = await eventually(() => manager.waiting(uid).find((line) => line.includes("registered")));
  assert.match(why, /driver name csi\.example\.com not found in the list of registered CSI drivers/);
  await process.start();
  await waiting;
  await writeFile(join(manager.mounted(uid, "scratch")!.path, "file"), "");
  assert.deepEqual(csi.node.health(), { ok: true });
  await manager.release(uid, abort.signal);
  assert.deepEqual(mountsBelow(hostMounts.list(), [rootDir]), []);
  assert.deepEqual(rejected, []);
});
