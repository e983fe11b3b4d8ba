import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { PodSpec } from "../../src/lib/model/pod.ts";
import { kernelValues } from "../cgroups/kernel-values.ts";
import { type ReferenceContainer, referencePods } from "../cgroups/reference-pods.ts";
import { type PodSpecInit, podManifest } from "../e2e/manifests.ts";
import { busyboxName } from "../node/test-node.ts";
import { type CgroupValues, cgroupDirs, oomScores, podCgroup, readCgroups } from "./guest-cgroups.ts";
import { type GuestCgroupDriver, GuestNode } from "./guest-node.ts";
import { describeOnMachine } from "./on-machine.ts";

/** Few of the table, because each container takes seconds in a guest; together they fit on its processor. */
const rules = [
  "no requests and no limits",
  "one container without a CPU limit",
  "a sidecar is added to the containers",
  "pod-level limits over containers with lower ones",
];
const rows = rules.map((rule) => {
  const index = referencePods.findIndex((row) => row.rule === rule);
  // A UID with dashes, which separate the parts of a slice's name.
  const uid = `${String(index).padStart(8, "0")}-0000-4000-8000-000000000000`;
  return { ...referencePods[index]!, name: `pod-${index}`, uid };
});

for (const [driver, containerd] of [
  ["cgroupfs", "1.6"],
  ["systemd", "2.x"],
] as const)
  describeOnMachine(`pods with containers on cgroup v2, ${driver} driver, containerd ${containerd}`, () => {
    let node: GuestNode;
    before(async () => {
      node = await GuestNode.start({ driver, containerd });
    });
    after(() => node?.stop());

    test("the kernel has the reference kubelet's limits of pods and containers, and nothing is left when they are gone", async () => {
      const { machine } = node;
      const dirsBefore = await cgroupDirs(machine, "");
      for (const { name, uid, pod } of rows) {
        const manifest = JSON.parse(podManifest(name, runnable(pod.spec)));
        await node.place(name, JSON.stringify({ ...manifest, metadata: { name, uid } }));
      }
      const running = await node.waitFor(async () => {
        const pods = await node.pods();
        const notReady = pods.filter(({ phase, ready }) => phase !== "Running" || !/^(\d)\/\1$/.test(ready));
        assert.deepEqual(
          notReady.map(({ name, phase, blockedOn }) => `${name}: ${phase} ${blockedOn}`),
          [],
        );
        assert.equal(pods.length, rows.length);
        return pods;
      }, 300_000);

      const found = await readCgroups(machine, driver === "systemd" ? "/kubepods.slice" : "/kubepods");
      const scores = await oomScores(machine);
      for (const { rule, name, uid, qos, v2 } of rows) {
        const path = podCgroup(driver, qos as "Burstable", uid);
        assert.partialDeepStrictEqual(found.get(path), kernelValues(2, v2.pod, driver), rule);
        const status = running.find((row) => row.name === `${name}-machine`)?.status;
        const all = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
        assert.deepEqual(new Set(all.map((one) => one.name)), new Set(Object.keys(v2.containers)));
        for (const container of all) {
          const id = container.containerID?.replace("containerd://", "");
          const own = `${path}/${driver === "systemd" ? `cri-containerd-${id}.scope` : id}`;
          const expected = v2.containers[container.name]!;
          const what = `${rule}: ${container.name}`;
          assert.partialDeepStrictEqual(found.get(own), containerValues(driver, expected), what);
          // Between the two it depends on the memory of the machine.
          if (qos !== "Burstable") assert.equal(scores.get(own), expected.oomScoreAdj, what);
        }
      }

      for (const { name } of rows) await node.remove(name);
      await node.waitFor(async () => assert.deepEqual(await node.pods(), []), 300_000);
      await node.waitFor(async () => {
        const left = await cgroupDirs(machine, "");
        assert.deepEqual(
          left.filter((dir) => !dirsBefore.includes(dir)),
          [],
        );
      });
      const left = "ls -A /var/lib/kubelet/pods; ip -o link show type veth; ctr -n k8s.io containers ls -q";
      assert.equal((await machine.sh(left)).trim(), "");
    });
  });

/** The spec of a row, with an image that the node has. */
function runnable(spec: PodSpec): PodSpecInit {
  const local = (containers: readonly { name: string }[]) =>
    containers.map((container) => ({ ...container, image: busyboxName }));
  const { containers, initContainers = [], ...rest } = spec;
  return { ...rest, containers: local(containers), initContainers: local(initContainers) };
}

/** The values that runc 1.1 writes for a container. */
function containerValues(driver: GuestCgroupDriver, c: ReferenceContainer): CgroupValues {
  const { cpuShares, cpuQuota, cpuPeriod, memoryLimitInBytes, unified = {} } = c;
  const cpuWeight = 1 + Math.floor(((cpuShares - 2) * 9999) / 262_142);
  const limits = { cpuWeight, cpuQuota, cpuPeriod, memory: memoryLimitInBytes, hugepages: {} };
  const { "pids.max": _, ...values } = kernelValues(2, limits, driver);
  return { ...values, ...unified };
}
