import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { BlockMaps } from "../../src/kubelet/pods/volumes/manager/block-maps.ts";
import { VolumeOperations } from "../../src/kubelet/pods/volumes/manager/operations.ts";
import { VolumeManager } from "../../src/kubelet/pods/volumes/manager/volume-manager.ts";
import { resolveClaim } from "../../src/kubelet/pods/volumes/persistent/resolve-volume.ts";
import { kubeVolumeApi } from "../../src/kubelet/pods/volumes/persistent/volume-api.ts";
import { systemClock } from "../../src/lib/base/clock.ts";
import { silentLogger } from "../../src/lib/base/logger.ts";
import { createMetrics } from "../../src/lib/base/metrics.ts";
import { hostMounts } from "../../src/lib/host/mounts.ts";
import { fakePod } from "../../src/lib/model/fake-pod.ts";
import type { Pod, PodUid } from "../../src/lib/model/pod.ts";
import { eventually } from "../contracts/eventually.ts";
import { type CsiAgent, CsiFixture, never } from "./csi-fixture.ts";

/** A volume manager with CSI as its only type, as an agent has it. */
async function managerOf(b: CsiFixture, agent: CsiAgent, desired: Set<PodUid>) {
  const abort = new AbortController();
  const api = kubeVolumeApi(b.api);
  const events = { normal: () => {}, warning: () => {} };
  const manager = new VolumeManager({
    rootDir: b.rootDir,
    plugins: [agent.plugin],
    operations: new VolumeOperations({
      events,
      blockMaps: new BlockMaps({ mounts: hostMounts }),
      cleanSubPaths: async () => {},
    }),
    clock: systemClock,
    logger: silentLogger,
    events,
    metrics: createMetrics(),
    resolveClaim: (pod, volume, signal) => resolveClaim(api, pod, volume, signal),
    nodePods: { phaseOf: (uid) => (desired.has(uid) ? "syncing" : undefined) },
    initialSync: { isComplete: () => true },
  });
  await manager.start(abort.signal);
  const stop = async () => {
    abort.abort();
    await manager.done;
  };
  return { manager, stop };
}

/** A pod with a PVC that is bound to a volume of the driver. */
function podWith(b: CsiFixture, driver: string, name: string): Pod {
  b.api.put(`/api/v1/namespaces/default/persistentvolumeclaims/${name}`, {
    metadata: { name, namespace: "default", uid: `${name}-uid` },
    spec: { volumeName: `pv-${name}`, accessModes: ["ReadWriteOnce"] },
    status: { phase: "Bound", capacity: { storage: "1Mi" } },
  });
  b.api.put(`/api/v1/persistentvolumes/pv-${name}`, {
    metadata: { name: `pv-${name}` },
    spec: {
      claimRef: { uid: `${name}-uid` },
      capacity: { storage: "1Mi" },
      accessModes: ["ReadWriteOnce"],
      csi: { driver, volumeHandle: `handle-${name}` },
    },
  });
  return fakePod({
    metadata: { name, uid: `${name}-pod` as PodUid },
    spec: {
      volumes: [{ name: "data", persistentVolumeClaim: { claimName: name } }],
      containers: [{ volumeMounts: [{ name: "data", mountPath: "/data" }] }],
    },
  });
}

async function withFixture(work: (b: CsiFixture) => Promise<void>): Promise<void> {
  const b = await CsiFixture.create();
  try {
    await work(b);
  } finally {
    await b.end();
  }
}

describe("pods with CSI volumes", { skip: process.getuid?.() !== 0 && "mounts need root" }, () => {
  it("wait for a killed driver until it is back, while pods of other drivers start", () =>
    withFixture(async (b) => {
      const agent = await b.agent();
      const stuck = b.driver("stuck.example.com");
      await stuck.faults({ NodeStageVolume: "hang" });
      await Promise.all([stuck.start(), b.driver("good.example.com").start()]);
      const blocked = podWith(b, "stuck.example.com", "blocked");
      const unaffected = podWith(b, "good.example.com", "unaffected");
      const desired = new Set([blocked.metadata.uid, unaffected.metadata.uid]);
      const { manager, stop } = await managerOf(b, agent, desired);
      const waiting = manager.waitFor(blocked, never);
      await eventually(async () => ((await stuck.calls("NodeStageVolume")).length > 0 ? true : undefined));
      await manager.waitFor(unaffected, never);
      assert.equal(manager.mounted(blocked.metadata.uid, "data"), undefined);
      await stuck.kill();
      await eventually(() =>
        manager.waiting(blocked.metadata.uid).find((line) => line.includes("code = Unavailable")),
      );
      await stuck.faults({});
      await stuck.start();
      await waiting;
      const { path } = manager.mounted(blocked.metadata.uid, "data")!;
      assert.equal(path, join(b.rootDir, "pods/blocked-pod/volumes/kubernetes.io~csi/pv-blocked/mount"));
      await writeFile(join(path, "file"), "");
      for (const uid of desired) await manager.release(uid, never);
      await eventually(() => (b.mounts().length === 0 ? true : undefined));
      await stop();
    }));

  it("keep their mounts when the agent restarts, and volumes that are no longer desired are removed", () =>
    withFixture(async (b) => {
      const firstAgent = await b.agent();
      await b.driver("a.example.com").start();
      const kept = podWith(b, "a.example.com", "kept");
      const gone = podWith(b, "a.example.com", "gone");
      const desired = new Set([kept.metadata.uid, gone.metadata.uid]);
      const first = await managerOf(b, firstAgent, desired);
      await Promise.all([first.manager.waitFor(kept, never), first.manager.waitFor(gone, never)]);
      const { path } = first.manager.mounted(kept.metadata.uid, "data")!;
      const id = (await hostMounts.at(path))?.id;
      assert.ok(id);
      await first.stop();
      await firstAgent.stop();
      desired.delete(gone.metadata.uid);
      const agent = await b.agent();
      const second = await managerOf(b, agent, desired);
      await second.manager.waitFor(kept, never);
      assert.equal((await hostMounts.at(path))?.id, id, "the volume was mounted again");
      await eventually(() => (b.mounts().length === 2 ? true : undefined));
      desired.clear();
      await second.manager.release(kept.metadata.uid, never);
      await eventually(() => (b.mounts().length === 0 ? true : undefined));
      await second.stop();
    }));
});
