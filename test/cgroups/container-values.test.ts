import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { podName } from "../../src/kubelet/resources/cgroups/names.ts";
import { detectLayout } from "../../src/lib/host/cgroups/mounted-cgroups.ts";
import type { PodUid } from "../../src/lib/model/pod.ts";
import type { QosClass } from "../../src/lib/model/qos.ts";
import { podsOf } from "../e2e/agent-pods.ts";
import { AgentProcess, cgroupDirs } from "../e2e/agent-process.ts";
import { type PodSpecInit, podManifest, writeManifest } from "../e2e/manifests.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { describeOnContainerd } from "../node/on-containerd.ts";
import { startTestNode, type TestNode } from "../node/test-node.ts";
import { contentsOf, kernelValues } from "./kernel-values.ts";
import { referencePods } from "./reference-pods.ts";

const layout = await detectLayout();
/** They fit together on two CPUs. */
const rules = [
  "no requests and no limits",
  "Guaranteed",
  "requests below limits",
  "one container without a memory limit",
  "a sidecar is added to the containers",
  "pod-level requests and limits without those of containers",
];
const rows = rules.map((rule) => referencePods.find((row) => row.rule === rule)!);

describeOnContainerd("cgroups of real containers", (version) => {
  let node: TestNode;
  let agent: AgentProcess;
  before(async () => {
    node = await startTestNode({ containerd: version });
    agent = await AgentProcess.create(node);
    agent.start();
  });
  after(() => agent?.destroy());

  test("pods and containers have the reference kubelet's values, and nothing is left of them", async () => {
    for (const [index, { pod }] of rows.entries()) {
      const { containers, initContainers, resources } = pod.spec;
      const named = (list: typeof containers | undefined) =>
        list?.map(({ name, resources: own, restartPolicy }) => ({ name, resources: own, restartPolicy }));
      const spec = { containers: named(containers), initContainers: named(initContainers), resources };
      writeManifest(node.manifests, `p${index}.json`, podManifest(`p${index}`, spec as PodSpecInit));
    }
    for (const [index, row] of rows.entries()) {
      const { uid, status } = await podsOf(agent).running(`p${index}`);
      const name = podName([node.cgroupRoot.slice(1), "kubepods"], row.qos as QosClass, uid as PodUid);
      const path = `/${name.join("/")}`;
      const values = layout.version === 1 ? row.v1 : row.v2;
      const want = kernelValues(layout.version, values.pod);
      assert.deepEqual(await contentsOf(layout, path, Object.keys(want)), want, row.rule);
      for (const { name: container, containerID } of [
        ...(status?.initContainerStatuses ?? []),
        ...(status?.containerStatuses ?? []),
      ]) {
        const { memoryLimitInBytes: memory, ...cpu } = values.containers[container]!;
        const ofContainer = kernelValues(layout.version, { ...cpu, memory, hugepages: {} });
        const { "cpu.weight": _, ...own } = ofContainer;
        const at = join(path, containerID!.replace("containerd://", ""));
        assert.deepEqual(await contentsOf(layout, at, Object.keys(own)), own, `${row.rule}: ${container}`);
      }
    }
    for (const index of rows.keys()) rmSync(join(node.manifests, `p${index}.json`));
    await waitFor(() => assert.deepEqual(podDirs(), []));
  });

  const podDirs = () =>
    ["", "/burstable", "/besteffort"].flatMap((qosCgroup) =>
      cgroupDirs(`${node.cgroupRoot}/kubepods${qosCgroup}`).filter((dir) => /\/pod[^/]*$/.test(dir)),
    );
});
