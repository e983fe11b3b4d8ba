import { after, before, describe } from "node:test";
import { freePort } from "../e2e/agent-process.ts";
import type { ContainerdVersion } from "../node/test-node.ts";
import { certificates } from "./certificates.ts";
import { cleanupTests } from "./cleanup.ts";
import { content } from "./content.ts";
import { hostPaths } from "./host-paths.ts";
import { loopDevice } from "./loop-device.ts";
import { mounting } from "./mounting.ts";
import { type Disks, persistent } from "./persistent.ts";
import { reserveHugePages, scratch } from "./scratch.ts";
import { insecureServer, volumeStatsTests } from "./volume-metrics.ts";
import { VolumeNode } from "./volume-node.ts";

const gates = {
  ClusterTrustBundle: true,
  ClusterTrustBundleProjection: true,
  PodCertificateRequest: true,
  LocalStorageCapacityIsolationFSQuotaMonitoring: true,
};

/** All types of volumes, side by side on one node of this version. */
export function volumesOfPods(version: ContainerdVersion): void {
  const hugePages = reserveHugePages();
  let n: VolumeNode;
  let disks: Disks | undefined;
  let port: number;
  const suites = [
    hostPaths(() => disks?.raw),
    persistent(() => disks),
    content,
    certificates,
    scratch(hugePages),
    mounting,
  ];

  before(async () => {
    port = await freePort();
    n = await VolumeNode.start(version, { config: { featureGates: gates, ...insecureServer(port) } });
    disks = await makeDisks(n);
    for (const suite of suites) await suite.prepare(n, version);
  });

  after(async () => {
    await n?.destroy();
    hugePages.release();
  });

  for (const suite of suites) describe(suite.title, () => suite.tests(() => n, version));
  describe("volume metrics and stats", () =>
    volumeStatsTests(
      () => n,
      () => port,
      () => disks !== undefined,
      version,
    ));
  describe("killed agents and deleted pods", () => cleanupTests(() => n));
}

async function makeDisks(n: VolumeNode): Promise<Disks | undefined> {
  try {
    const raw = await loopDevice(`${n.dir}/raw`, 16 << 20);
    n.cleanups.push(raw.detach);
    const formatted = await loopDevice(`${n.dir}/formatted`, 16 << 20);
    n.cleanups.push(formatted.detach);
    return { raw, formatted };
  } catch {
    return undefined;
  }
}
