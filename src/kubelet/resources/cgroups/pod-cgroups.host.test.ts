import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { silentLogger } from "../../../lib/base/logger.ts";
import {
  cgroupFilesystem,
  detectLayout,
  readHugepageSizes,
} from "../../../lib/host/cgroups/mounted-cgroups.ts";
import { fakePod } from "../../../lib/model/fake-pod.ts";
import { CgroupfsManager } from "./cgroup-manager.ts";
import { createPodCgroups } from "./pod-cgroups.ts";

const skip = process.getuid?.() === 0 ? false : "only root may create cgroups";

/** On real cgroups, below one of this test. */
describe("pod cgroups on this host", { skip }, async () => {
  const layout = await detectLayout();
  const filesystem = cgroupFilesystem(layout);
  const cgroupRoot = `/kubelet-ts-test-pods-${process.pid}`;
  const cgroups = createPodCgroups({
    manager: new CgroupfsManager(filesystem),
    cgroupsPerQos: true,
    cgroupRoot,
    limits: {
      cpuCfsQuota: true,
      cpuCfsQuotaPeriodUs: 100_000n,
      podPidsLimit: 50n,
      podLevelResources: true,
      memoryQos: false,
      memoryReservationPolicy: "None",
      hugepageSizes: await readHugepageSizes(),
    },
    logger: silentLogger,
  });
  const pod = fakePod({
    spec: {
      containers: [{ resources: { requests: { cpu: "50m" }, limits: { cpu: "200m", memory: "64Mi" } } }],
    },
  });
  const read = (controller: string, file: string) => {
    const mount = layout.version === 1 ? layout.mounts.get(controller)! : layout.root;
    return readFileSync(join(mount, cgroups.parentFor(pod), file), "utf8").trim();
  };
  after(() => filesystem.remove(cgroupRoot));

  it("are created, found again after a restart, and removed", async () => {
    await filesystem.create(cgroupRoot, {});
    await cgroups.start();
    await cgroups.ensure(pod);
    await cgroups.updateQos([pod]);
    if (layout.version === 1) {
      assert.equal(read("cpu", "cpu.shares"), "51");
      assert.equal(read("cpu", "cpu.cfs_quota_us"), "20000");
      assert.equal(read("memory", "memory.limit_in_bytes"), String(64 << 20));
    } else {
      assert.equal(read("cpu", "cpu.max"), "20000 100000");
      assert.equal(read("memory", "memory.max"), String(64 << 20));
    }
    assert.equal(read("pids", "pids.max"), "50");
    await cgroups.start();
    assert.deepEqual(await cgroups.list(), [pod.metadata.uid]);
    await cgroups.remove(pod.metadata.uid);
    assert.deepEqual(await cgroups.list(), []);
    assert.equal(await cgroups.exists(pod), false);
  });
});
