import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Pod } from "../../src/lib/model/pod.ts";
import { buildImage, type OciImage } from "../../src/single-node/oci-image.ts";
import { sleeper } from "../e2e/manifests.ts";
import { busyboxName } from "../node/test-node.ts";
import type { ApiEvent } from "./guest-api.ts";
import { GuestNode } from "./guest-node.ts";
import type { Machine } from "./machine.ts";
import { describeOnMachine } from "./on-machine.ts";

const mib = 1 << 20;

/** The guest has little memory and small disks, so that a small load causes pressure. */
const memoryMb = 1024;
const config = {
  evictionHard: {
    "memory.available": "350Mi",
    "nodefs.available": "100Mi",
    "nodefs.inodesFree": "1000",
    "imagefs.available": "200Mi",
    "pid.available": "500",
  },
  evictionPressureTransitionPeriod: "15s",
  nodeStatusUpdateFrequency: "2s",
};
const maxPids = 1000;

/** It has been there since the agent started, and no pod uses it. */
const unusedImage = "localhost/kubelet-ts/unused:1";
const recentImage = "localhost/kubelet-ts/recent:1";

/** It needs 120 MiB: compressed or not, containerd stores the layer and its unpacked files. */
function largeImage(name: string): OciImage {
  const data = Buffer.alloc(60 * mib, name);
  return buildImage({ names: [name], layers: [[{ type: "file", name: "data", data }]], config: {} });
}

async function smallDisks(machine: Machine): Promise<void> {
  await machine.sh(`set -e
    sysctl -q -w kernel.pid_max=${maxPids}
    modprobe loop
    disk() {
      truncate -s "$2" "/disk-$1"
      mkfs.ext4 -q -m 0 -N "$3" "/disk-$1"
      mkdir -p "/var/lib/$1"
      mount -o loop "/disk-$1" "/var/lib/$1"
    }
    disk kubelet 256M 3000
    disk containerd 448M 20000`);
}

interface Pressure {
  readonly condition: "MemoryPressure" | "DiskPressure" | "PIDPressure";
  /** The resource that the message of the evicted pod names. */
  readonly resource: "memory" | "ephemeral-storage" | "inodes" | "pids";
  readonly command: string;
  readonly emptyDir?: boolean;
}

/** Each uses up one resource and then keeps still, so that the agent gets the only processor. */
const offenders: Record<string, Pressure> = {
  "memory-hog": {
    condition: "MemoryPressure",
    resource: "memory",
    // dd holds its buffer until something reads the pipe. One process cannot use much more in this guest.
    command: "for i in 1 2 3 4 5; do dd if=/dev/zero bs=100M count=1 | sleep 3600 & done; wait",
  },
  "disk-filler": {
    condition: "DiskPressure",
    resource: "ephemeral-storage",
    command: "dd if=/dev/zero of=/data/file bs=1M count=170; sleep 3600",
    emptyDir: true,
  },
  "inode-filler": {
    condition: "DiskPressure",
    resource: "inodes",
    command: "i=0; while [ $i -lt 2300 ]; do : > /data/$i; i=$((i+1)); done; sleep 3600",
    emptyDir: true,
  },
  "fork-bomb": {
    condition: "PIDPressure",
    resource: "pids",
    command: "i=0; while [ $i -lt 450 ]; do sleep 3600 & i=$((i+1)); done; wait",
  },
};

describeOnMachine("pods under pressure on cgroup v2", () => {
  let node: GuestNode;
  let neighbor: Pod;

  before(async () => {
    node = await GuestNode.start({
      driver: "cgroupfs",
      images: [largeImage(unusedImage)],
      withApi: true,
      memoryMb,
      config,
      prepare: smallDisks,
    });
    // It uses something of everything, and less than it requests.
    await node.api.addPod("neighbor", {
      volumes: [{ name: "data", emptyDir: {} }],
      containers: [
        {
          name: "c",
          command: ["sh", "-c", `dd if=/dev/zero of=/data/file bs=1M count=5; ${sleeper[2]}`],
          resources: { requests: { memory: "64Mi", "ephemeral-storage": "20Mi" } },
          volumeMounts: [{ name: "data", mountPath: "/data" }],
        },
      ],
    });
    neighbor = await podIs("neighbor", "Running");
  });
  after(() => node?.stop());

  /** The names of the pods that were evicted, without those that were rejected. */
  function evictedPods(events: readonly ApiEvent[]): Set<string> {
    const names = events
      .filter(({ message }) => message.startsWith("The node was low"))
      .map((e) => e.involvedObject.name);
    return new Set(names);
  }

  function podIs(name: string, phase: string): Promise<Pod> {
    return node.waitFor(async () => {
      const pod = await node.api.pod(name);
      assert.equal(pod?.status?.phase, phase, `${name}: ${JSON.stringify(pod?.status)}`);
      return pod!;
    }, 180_000);
  }

  function conditionIs(type: string, status: string): Promise<void> {
    return node.waitFor(async () => {
      const condition = await node.api.condition(type);
      assert.equal(condition?.status, status, `${type}: ${condition?.message}`);
    }, 180_000);
  }

  async function neighborRunsOn(): Promise<void> {
    const pod = await podIs("neighbor", "Running");
    assert.equal(pod.metadata.uid, neighbor.metadata.uid);
    assert.deepEqual(
      pod.status?.containerStatuses?.map(({ containerID, restartCount }) => ({ containerID, restartCount })),
      neighbor.status?.containerStatuses?.map(({ containerID }) => ({ containerID, restartCount: 0 })),
    );
  }

  for (const [name, { condition, resource, command, emptyDir }] of Object.entries(offenders)) {
    test(`${name}: it is evicted, the node gets ${condition}, rejects a pod and recovers`, async () => {
      const { api } = node;
      await api.addPod(name, {
        ...(emptyDir ? { volumes: [{ name: "data", emptyDir: {} }] } : {}),
        containers: [
          {
            name: "c",
            command: ["sh", "-c", command],
            ...(emptyDir ? { volumeMounts: [{ name: "data", mountPath: "/data" }] } : {}),
          },
        ],
      });
      await conditionIs(condition, "True");
      await api.addPod(`${name}-late`, { containers: [{ name: "c" }] });
      const late = await podIs(`${name}-late`, "Failed");
      assert.equal(late.status?.reason, "Evicted");
      assert.match(late.status?.message ?? "", new RegExp(`The node had condition: \\[${condition}\\]`));

      const evicted = await podIs(name, "Failed");
      assert.equal(evicted.status?.reason, "Evicted");
      assert.match(
        evicted.status?.message ?? "",
        new RegExp(`^The node was low on resource: ${resource}\\. Threshold quantity: `),
      );
      const target = evicted.status?.conditions?.find(({ type }) => type === "DisruptionTarget");
      assert.equal(target?.status, "True");
      assert.equal(target?.reason, "TerminationByKubelet");
      await node.waitFor(async () => {
        const events = await api.events("Evicted");
        assert.ok(events.some(({ involvedObject }) => involvedObject.name === name));
      });

      await conditionIs(condition, "False");
      await neighborRunsOn();
      for (const done of [name, `${name}-late`]) await api.deletePod(done);
      await node.waitFor(async () =>
        assert.deepEqual(
          (await api.pods()).map((pod) => pod.metadata.name),
          ["neighbor"],
        ),
      );
    });
  }

  test("a pod is admitted again after the pressure", async () => {
    await node.api.addPod("afterwards", { containers: [{ name: "c" }] });
    await podIs("afterwards", "Running");
    await node.api.deletePod("afterwards");
  });

  test("an unused image is removed when the image store is over its threshold, and no pod is evicted", async () => {
    const { api } = node;
    // Too young to be removed: the older one has to go.
    await node.importImage(largeImage(recentImage));
    await conditionIs("DiskPressure", "True");
    await node.waitFor(async () => {
      const images = (await node.ctr("images ls -q")).split("\n");
      assert.equal(images.includes(unusedImage), false);
      assert.ok(images.includes(recentImage));
      assert.ok(images.includes(busyboxName));
    });
    await conditionIs("DiskPressure", "False");
    await neighborRunsOn();
    assert.deepEqual(await api.events("Evicted").then(evictedPods), new Set(Object.keys(offenders)));
  });
});
