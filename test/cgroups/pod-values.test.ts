import assert from "node:assert/strict";
import { availableParallelism, totalmem } from "node:os";
import { after, describe, it } from "node:test";
import { podName, qosName, toPath } from "../../src/kubelet/resources/cgroups/names.ts";
import type { KubeletConfiguration } from "../../src/lib/config/kubelet-configuration.ts";
import { cgroupFilesystem, detectLayout } from "../../src/lib/host/cgroups/mounted-cgroups.ts";
import { applyPodDefaults } from "../../src/lib/model/defaults/pod.ts";
import type { Pod } from "../../src/lib/model/pod.ts";
import type { QosClass } from "../../src/lib/model/qos.ts";
import { hugepageAmounts, milliOf, podRequests, wholeOf } from "../../src/lib/model/resources.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { fakeImages } from "../fake-runtime/fake-runtime.ts";
import { CgroupNode } from "./cgroup-node.ts";
import { contentsOf, kernelValues } from "./kernel-values.ts";
import { podOf, type ReferencePod, type ReferenceSettings, referencePods } from "./reference-pods.ts";

const layout = await detectLayout();
const skip = process.getuid?.() === 0 ? false : "only root can create cgroups";
const driver = process.env.CGROUP_DRIVER === "systemd" ? "systemd" : "cgroupfs";
const kernel = cgroupFilesystem(layout);
const base = [`kubelettest${process.pid}`];
const root = [...base, "kubepods"];
const qosClasses: readonly QosClass[] = ["Guaranteed", "Burstable", "BestEffort"];
const uidPrefix = "c9c9c9c9";

/** On this machine's kernel. The runtime is in memory: cgroups of containers are not the agent's. */
describe(`pod cgroups of the kernel (v${layout.version}, ${driver})`, { skip }, () => {
  after(() => kernel.remove(toPath(base, driver)));

  // parity: field cpuCFSQuota, field cpuCFSQuotaPeriod, field podPidsLimit
  for (const rows of bySettings())
    it(`have the reference kubelet's values with ${settingsOf(rows[0]!)}, and are removed with their pods`, async () => {
      const { settings } = rows[0]!;
      const node = await CgroupNode.start({
        driver,
        cgroupRoot: `/${base.join("/")}`,
        config: configOf(settings),
        gates: { MemoryQoS: settings.memoryQoS },
      });
      try {
        for (const batch of batches(rows)) await compare(node, batch);
      } finally {
        await node.stop();
      }
    });

  it("cover 40 pods and more", () => {
    assert.ok(bySettings().flat().length >= 40);
  });
});

interface Placed {
  readonly row: ReferencePod;
  readonly pod: Pod;
}

async function compare(node: CgroupNode, batch: readonly Placed[]): Promise<void> {
  node.run(batch.map(({ pod }) => pod));
  for (const { row, pod } of batch) {
    const path = toPath(podName(root, row.qos as QosClass, pod.metadata.uid), driver);
    const want = kernelValues(layout.version, (layout.version === 1 ? row.v1 : row.v2).pod, driver);
    await waitFor(async () =>
      assert.deepEqual(await contentsOf(layout, path, Object.keys(want)), want, row.rule),
    );
  }
  node.run([]);
  await waitFor(async () => assert.deepEqual(await left(), []));
}

/** Cgroups of pods, in any hierarchy. */
async function left(): Promise<string[]> {
  const dirs = await Promise.all(
    qosClasses.map((qos) => kernel.children(toPath(qosName(root, qos), driver))),
  );
  return dirs.flat().filter((dir) => dir.includes(uidPrefix));
}

/** Pods that an empty machine of this size admits, by the settings of the agent that they need. */
function bySettings(): ReferencePod[][] {
  const groups = new Map<string, ReferencePod[]>();
  for (const row of referencePods.filter(fits)) {
    const { cpuCFSQuota, cpuCFSQuotaPeriodUs, podPidsLimit } = row.settings;
    // Other settings have an effect on containers only, or on v2 only.
    const { memoryQoS, memoryReservationPolicy } = row.settings;
    const v2 = layout.version === 2 && [memoryQoS, memoryReservationPolicy];
    const key = JSON.stringify([cpuCFSQuota, cpuCFSQuotaPeriodUs, podPidsLimit, v2]);
    groups.set(key, [...(groups.get(key) ?? []), row]);
  }
  return [...groups.values()];
}

function fits(row: ReferencePod): boolean {
  const requests = podRequests(podOf(row, "p", "u"));
  const free =
    milliOf(requests, "cpu") <= availableParallelism() * 1000 && wholeOf(requests, "memory") < totalmem() / 2;
  // Without the gate, a pod with pod-level resources is rejected.
  return free && hugepageAmounts(requests).size === 0 && row.settings.podLevelResources;
}

function settingsOf({ settings: s }: ReferencePod): string {
  const quota = s.cpuCFSQuota ? `a period of ${s.cpuCFSQuotaPeriodUs} µs` : "no CFS quota";
  const pids = s.podPidsLimit > 0 ? [`${s.podPidsLimit} processes`] : [];
  const memory = s.memoryQoS && layout.version === 2 ? [`memory QoS ${s.memoryReservationPolicy}`] : [];
  return [quota, ...pids, ...memory].join(", ");
}

function configOf(s: ReferenceSettings): Partial<KubeletConfiguration> {
  return {
    cpuCFSQuota: s.cpuCFSQuota,
    cpuCFSQuotaPeriod: s.cpuCFSQuotaPeriodUs / 1000,
    podPidsLimit: s.podPidsLimit,
    memoryReservationPolicy: s.memoryReservationPolicy,
  };
}

/** As many as the machine has CPUs for. */
function* batches(rows: readonly ReferencePod[]): Generator<Placed[]> {
  let batch: Placed[] = [];
  let cpu = 0n;
  for (const row of rows) {
    const pod = placeable(row);
    const own = milliOf(podRequests(pod), "cpu");
    if (cpu + own > availableParallelism() * 1000) {
      yield batch;
      [batch, cpu] = [[], 0n];
    }
    batch.push({ row, pod });
    cpu += own;
  }
  yield batch;
}

/** Complete, with the resources as in the table. */
function placeable(row: ReferencePod): Pod {
  const index = String(referencePods.indexOf(row)).padStart(12, "0");
  const given = podOf(row, `p${index}`, `${uidPrefix}-0000-4000-8000-${index}`);
  const pod = applyPodDefaults(given);
  const { spec } = pod;
  spec.resources = given.spec.resources;
  for (const list of ["containers", "initContainers"] as const)
    for (const [i, container] of (spec[list] ?? []).entries()) {
      container.image = fakeImages.busybox;
      container.resources = given.spec[list]?.[i]?.resources;
    }
  spec.terminationGracePeriodSeconds = 1;
  delete pod.metadata.annotations;
  return pod;
}
