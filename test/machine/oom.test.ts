import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Explanations } from "../../src/kubelet/explain/pod-explanations.ts";
import { GuestNode } from "./guest-node.ts";
import { describeOnMachine } from "./on-machine.ts";

describeOnMachine("OOM kills on cgroup v2", () => {
  let node: GuestNode;

  before(async () => {
    // Without eviction, which would come first.
    const config = { evictionHard: { "memory.available": "1Ki" }, nodeStatusUpdateFrequency: "2s" };
    node = await GuestNode.start({ driver: "systemd", memoryMb: 1024, withApi: true, config });
  });
  after(() => node?.stop());

  test("a container at its limit: OOMKilled, with the process and the limit in its explanation, and no event of the node", async () => {
    const resources = { limits: { memory: "24Mi" } };
    const containers = [{ name: "c", command: ["tail", "/dev/zero"], resources }];
    await node.api.addPod("greedy", { restartPolicy: "Never", containers });
    await node.waitFor(async () => {
      const pod = await node.api.pod("greedy");
      const end = pod?.status?.containerStatuses?.[0]?.state?.terminated;
      assert.deepEqual([end?.exitCode, end?.reason], [137, "OOMKilled"], JSON.stringify(pod?.status));
    });
    await node.waitFor(async () => {
      const { pods } = JSON.parse(await node.get("/explain?pod=greedy")) as Explanations;
      assert.match(
        pods[0]?.cause ?? "",
        /^container c exited with code 137 \(OOMKilled\): the (container|pod) used 24Mi of its memory limit of 24Mi \(process tail\)$/,
      );
    });
    assert.deepEqual(await node.api.events("SystemOOM"), []);
  });

  test("a machine without memory: the node has an event with the process that was killed", async () => {
    // One process cannot use enough memory in this guest, so most of it is used by a file in memory. systemd ends the unit of a process
    // that is killed, so it has its own.
    const killed = await node.machine.sh(`
      free=$(awk '/^MemAvailable:/ {print int($2 / 1024)}' /proc/meminfo)
      mount -t tmpfs -o size=100% none /mnt
      dd if=/dev/zero of=/mnt/file bs=1M count=$((free - 100)) 2>/dev/null
      systemd-run --quiet --wait --unit=hog --property=OOMScoreAdjust=1000 tail /dev/zero 2>/dev/null
      umount /mnt
      systemctl show --property=ExecMainPID --value hog`);
    const message = `System OOM encountered, victim process: tail, pid: ${killed.trim()}`;
    await node.waitFor(async () => {
      const events = await node.api.events("SystemOOM");
      assert.deepEqual(
        events.map((event) => [event.type, event.message, event.involvedObject.kind]),
        [["Warning", message, "Node"]],
      );
    });
  });
});
