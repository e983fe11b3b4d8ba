import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { podManifest } from "../e2e/manifests.ts";
import { cgroupDirs, podCgroup, readCgroups } from "./guest-cgroups.ts";
import { GuestNode } from "./guest-node.ts";
import { describeOnMachine } from "./on-machine.ts";

describeOnMachine("a static pod with limits on cgroup v2 (cgroupfs driver)", () => {
  let node: GuestNode;

  before(async () => {
    node = await GuestNode.start({ driver: "cgroupfs", config: { podPidsLimit: 100 } });
  });
  after(() => node?.stop());

  test("the kernel has the limits of the pod and of its container, and nothing is left of them when the pod is gone", async () => {
    const { machine } = node;
    const before = await cgroupDirs(machine, "");
    await node.place(
      "limited",
      podManifest("limited", {
        containers: [
          {
            name: "c",
            resources: { requests: { cpu: "250m", memory: "32Mi" }, limits: { cpu: "500m", memory: "64Mi" } },
          },
        ],
      }),
    );
    const row = await node.waitFor(async () => {
      const pod = await node.pod("limited");
      assert.equal(pod?.phase, "Running", `${pod?.phase}: ${pod?.blockedOn}`);
      assert.equal(pod.ready, "1/1");
      return pod;
    });
    const uid = row.uid;
    const path = podCgroup(node.driver, "Burstable", uid);
    const cgroups = await readCgroups(machine, path);
    const limits = { "cpu.max": "50000 100000", "cpu.weight": "10", "memory.max": String(64 << 20) };
    assert.partialDeepStrictEqual(cgroups.get(path), { ...limits, "pids.max": "100" });
    const id = row.status?.containerStatuses?.[0]?.containerID?.replace("containerd://", "");
    assert.partialDeepStrictEqual(cgroups.get(`${path}/${id}`), limits);

    await node.remove("limited");
    await node.waitFor(async () => assert.equal(await node.pod("limited"), undefined));
    await node.waitFor(async () =>
      assert.deepEqual(
        (await cgroupDirs(machine, "")).filter((dir) => !before.includes(dir)),
        [],
      ),
    );
    const left = await machine.sh(
      `ls -A /var/lib/kubelet/pods; ip -o link show type veth; ctr -n k8s.io containers ls -q`,
    );
    assert.equal(left.trim(), "");
  });
});
