import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { kernelValues } from "../cgroups/kernel-values.ts";
import { referencePods } from "../cgroups/reference-pods.ts";
import { repoDir } from "../e2e/agent-process.ts";
import { Machine } from "./machine.ts";
import { describeOnMachine } from "./on-machine.ts";

/**
 * Without a whole agent: like the reference kubelet, it does not start on cgroup v1 without cpuset, which the kernel of the guest lacks
 * (layout.test.ts).
 */
describeOnMachine("the systemd driver on cgroup v1", () => {
  let machine: Machine;
  const listed = async (script: string) => (await machine.sh(script)).split("\n").filter(Boolean);

  before(async () => {
    machine = await Machine.boot({ cgroupVersion: 1 });
    await machine.mountHost(repoDir, "/project");
  });
  after(() => machine?.powerOff());

  test(`${referencePods.length} pods have the limits of the reference kubelet in each hierarchy, and leave nothing`, async () => {
    const node = `/project/node_modules/node-linux-${process.arch}/bin/node`;
    const output = await machine.sh(`${node} /project/test/machine/pod-cgroups-program.ts`);
    const { version, values } = JSON.parse(output) as { version: number; values: Record<string, string>[] };
    assert.equal(version, 1);
    for (const [index, { rule, v1 }] of referencePods.entries())
      assert.deepEqual(values[index], kernelValues(1, v1.pod, "systemd"), rule);
    assert.deepEqual(await listed("find /sys/fs/cgroup -type d -path '*kubepods*-pod*'"), []);
    assert.deepEqual(
      await listed("systemctl list-units --all --plain --no-legend 'kubepods*-pod*' | cut -d' ' -f1"),
      [],
    );
  });
});
