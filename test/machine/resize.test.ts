import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Pod, ResourceRequirements } from "../../src/lib/model/pod.ts";
import { podCgroup, readCgroups } from "./guest-cgroups.ts";
import { GuestNode } from "./guest-node.ts";
import { describeOnMachine } from "./on-machine.ts";

const mebi = 1 << 20;
const resources = (cpu: number, memory: number): ResourceRequirements => ({
  limits: { cpu: `${cpu}m`, memory: `${memory}Mi` },
  requests: { cpu: `${cpu / 2}m`, memory: `${memory / 2}Mi` },
});

describeOnMachine("a resize on cgroup v2, with slices of systemd", () => {
  let node: GuestNode;
  before(async () => {
    node = await GuestNode.start({ driver: "systemd", containerd: "2.x", withApi: true });
    await node.api.addPod("resized", { containers: [{ name: "c", resources: resources(200, 64) }] });
  });
  after(() => node?.stop());

  /** Cgroups of pod and container, and the status, have the resources. */
  const has = async (cpu: number, memory: number): Promise<Pod> => {
    const pod = await node.api.pod("resized");
    const [container] = pod?.status?.containerStatuses ?? [];
    assert.deepEqual(container?.resources, resources(cpu, memory));
    assert.deepEqual(
      pod?.status?.conditions?.filter(({ type }) => type.startsWith("PodResize")),
      [],
    );
    const path = podCgroup("systemd", "Burstable", pod!.metadata.uid);
    const values = await readCgroups(node.machine, path, ["cpu.max", "memory.max"]);
    const scope = `${path}/cri-containerd-${container?.containerID?.replace("containerd://", "")}.scope`;
    for (const cgroup of [path, scope])
      assert.deepEqual(
        values.get(cgroup),
        { "cpu.max": `${cpu * 100} 100000`, "memory.max": String(memory * mebi) },
        cgroup,
      );
    return pod!;
  };

  test("up and down changes the cgroups of pod and container, without a restart, even after the agent was killed", async () => {
    await node.waitFor(() => has(200, 64), 300_000);
    for (const [cpu, memory] of [
      [400, 128],
      [100, 128],
      [300, 48],
    ] as const) {
      await node.api.resize("resized", "c", resources(cpu, memory));
      if (cpu === 100) {
        await node.killAgent();
        await node.startAgent();
      }
      const { status } = await node.waitFor(() => has(cpu, memory), 300_000);
      assert.equal(status?.containerStatuses?.[0]?.restartCount, 0);
    }
  });
});
