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
async function managerOf(b: CsiFixture, agent: CsiAgent, living: Set<PodUid>) {
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
    phaseOf: (uid) => (living.has(uid) ? "syncing" : undefined),
    ready: () => true,
  });
  await manager.start(abort.signal);
  const stop = async () => {
    abort.abort();
    await manager.done;
  };
  return { manager, stop };
}

/** A pod with a claim that is bound to a volume of the driver. */
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

async function bench(work: (b: CsiFixture) => Promise<void>): Promise<void> {
  const b = await CsiFixture.make();
  try {
    await work(b);
  } finally {
    await b.end();
  }
}

describe("pods with CSI volumes", { skip: process.getuid?.() !== 0 && "mounts need root" }, () => {
  it("wait for a killed driver, and continue when it is back; others do not wait", () =>
    bench(async (b) => {
      const agent = await b.agent();
      const stuck = b.driver("stuck.example.com");
      await stuck.faults({ NodeStageVolume: "hang" });
      await Promise.all([stuck.start(), b.driver("good.example.com").start()]);
      const held = podWith(b, "stuck.example.com", "held");
      const free = podWith(b, "good.example.com", "free");
      const living = new Set([held.metadata.uid, free.metadata.uid]);
      const { manager, stop } = await managerOf(b, agent, living);
      const holding = manager.waitFor(held, never);
      await eventually(async () => ((await stuck.calls("NodeStageVolume")).length > 0 ? true : undefined));
      await manager.waitFor(free, never);
      assert.equal(manager.mounted(held.metadata.uid, "data"), undefined);
      await stuck.kill();
      await eventually(() =>
        manager.waiting(held.metadata.uid).find((line) => line.includes("code = Unavailable")),
      );
      await stuck.faults({});
      await stuck.start();
      await holding;
      const { path } = manager.mounted(held.metadata.uid, "data")!;
      assert.equal(path, join(b.rootDir, "pods/held-pod/volumes/kubernetes.io~csi/pv-held/mount"));
      await writeFile(join(path, "file"), "");
      for (const uid of living) await manager.release(uid, never);
      await eventually(() => (b.mounts().length === 0 ? true : undefined));
      await stop();
    }));

  it("keep their mounts over a restart of the agent, and what is no longer desired is removed", () =>
    bench(async (b) => {
      const former = await b.agent();
      await b.driver("a.example.com").start();
      const kept = podWith(b, "a.example.com", "kept");
      const gone = podWith(b, "a.example.com", "gone");
      const living = new Set([kept.metadata.uid, gone.metadata.uid]);
      const before = await managerOf(b, former, living);
      await Promise.all([before.manager.waitFor(kept, never), before.manager.waitFor(gone, never)]);
      const { path } = before.manager.mounted(kept.metadata.uid, "data")!;
      const id = (await hostMounts.at(path))?.id;
      assert.ok(id);
      await before.stop();
      await former.stop();
      living.delete(gone.metadata.uid);
      const agent = await b.agent();
      const after = await managerOf(b, agent, living);
      await after.manager.waitFor(kept, never);
      assert.equal((await hostMounts.at(path))?.id, id, "the same mount");
      await eventually(() => (b.mounts().length === 2 ? true : undefined));
      living.clear();
      await after.manager.release(kept.metadata.uid, never);
      await eventually(() => (b.mounts().length === 0 ? true : undefined));
      await after.stop();
    }));
});
