import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { nodeName } from "../cluster/cluster-node.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { long } from "../long.ts";
import { containerdVersions } from "../node/test-node.ts";
import { type Claim, CsiTestNode, claimsPath } from "./csi-test-node.ts";
import type { DriverProcess } from "./driver-process.ts";

const driverName = "disk.example.com";
const zone = "topology.disk.example.com/zone";
/** The volume metrics of a kubelet, except for usage. */
const volumeMetrics = [
  "csi_operations_seconds",
  "force_cleaned_failed_volume_operation_errors_total",
  "force_cleaned_failed_volume_operations_total",
  "kubelet_image_volume_mounted_errors_total",
  "kubelet_image_volume_mounted_succeed_total",
  "kubelet_image_volume_requested_total",
  "kubelet_orphan_pod_cleaned_volumes",
  "kubelet_orphan_pod_cleaned_volumes_errors",
  "kubelet_volume_metric_collection_duration_seconds",
  "plugin_manager_total_plugins",
  "reconstruct_volume_operations_errors_total",
  "reconstruct_volume_operations_total",
  "storage_operation_duration_seconds",
  "volume_manager_total_volumes",
  "volume_operation_total_seconds",
];
const available = containerdVersions().find(({ name }) => name === "2.x")?.available;

interface NodeObject {
  readonly metadata: {
    readonly labels: Record<string, string>;
    readonly annotations: Record<string, string>;
  };
  readonly status: {
    readonly volumesInUse?: readonly string[];
    readonly volumesAttached?: readonly { readonly name: string }[];
  };
}

describe("the lifecycle of a CSI volume on a node", { skip: available === true ? false : available }, () => {
  let testNode: CsiTestNode;
  let driver: DriverProcess;
  const node = () => testNode.apiNode.get<NodeObject>(`/api/v1/nodes/${nodeName}`);
  const count = async (method: string) => (await driver.calls(method)).length;

  before(async () => {
    testNode = await CsiTestNode.start("2.x");
    driver = await testNode.driver(
      driverName,
      { attachRequired: true, podInfoOnMount: true },
      { maxVolumes: 7, topology: { [zone]: "z1" } },
    );
    await driver.start();
  });
  after(async () => {
    await testNode?.destroy();
  });

  test("a registered driver is added to the CSINode object, the topology labels and the node ID annotation", async () => {
    const own = await waitFor(async () => {
      const csiNode = await testNode.apiNode.get<{
        metadata: NodeObject["metadata"];
        spec: { drivers: object[] };
      }>(`/apis/storage.k8s.io/v1/csinodes/${nodeName}`);
      assert.equal(csiNode.spec.drivers?.length, 1);
      return csiNode;
    });
    assert.deepEqual(own.spec.drivers, [
      { name: driverName, nodeID: `${driverName}-node`, topologyKeys: [zone], allocatable: { count: 7 } },
    ]);
    assert.match(
      own.metadata.annotations["storage.alpha.kubernetes.io/migrated-plugins"] ?? "",
      /^kubernetes\.io\/aws-ebs,.*kubernetes\.io\/vsphere-volume$/,
    );
    const { metadata } = await node();
    assert.equal(metadata.labels[zone], "z1");
    assert.deepEqual(JSON.parse(metadata.annotations["csi.volume.kubernetes.io/nodeid"] ?? ""), {
      [driverName]: `${driverName}-node`,
    });
  });

  const unique = `kubernetes.io/csi/${driverName}^handle-data`;

  test("a pod waits until its volume is attached, after the volume was reported as in use", async () => {
    await testNode.claim(driverName, "data", {}, { volumeAttributes: { color: "red" } });
    await testNode.podWithClaim("data");
    await waitFor(async () => assert.deepEqual((await node()).status.volumesInUse, [unique]));
    const names = await waitFor(async () => {
      const found = await testNode.attach(driverName, { attached: false });
      assert.deepEqual(found, [testNode.attachmentOf(driverName, "data")]);
      return found;
    });
    assert.equal(names.length, 1);
    const [row] = (await testNode.apiNode.agent.pods()) ?? [];
    assert.match(JSON.stringify(row), /waiting for volume data/);
    assert.equal(await count("NodeStageVolume"), 0);
    await testNode.attach(driverName, { attached: true, attachmentMetadata: { device: "sdx" } });
    await testNode.apiNode.runs("data");
    const [stage] = await driver.calls("NodeStageVolume");
    assert.deepEqual(stage?.request.publishContext, { device: "sdx" });
    const [publish] = await driver.calls("NodePublishVolume");
    const context = publish?.request.volumeContext as Record<string, string>;
    assert.equal(context.color, "red");
    assert.equal(context["csi.storage.k8s.io/pod.name"], "data");
    assert.equal(await testNode.inside("data", "echo hello > /data/file && cat /data/file"), "hello");
  });

  test("the volume is expanded while its pod runs, and the PVC is updated", async () => {
    const kilobytes = () => testNode.inside("data", "df -k /data | tail -1 | awk '{print $2}'");
    assert.equal(await kilobytes(), "1024");
    await testNode.patch("/api/v1/persistentvolumes/pv-data", { spec: { capacity: { storage: "3Mi" } } });
    await testNode.patch(`${claimsPath}/data/status`, {
      status: {
        allocatedResources: { storage: "3Mi" },
        allocatedResourceStatuses: { storage: "NodeResizePending" },
        conditions: [{ type: "FileSystemResizePending", status: "True" }],
      },
    });
    await waitFor(async () => {
      const { status } = await testNode.apiNode.get<Claim>(`${claimsPath}/data`);
      assert.equal(status.capacity?.storage, "3Mi");
      assert.deepEqual(status.conditions ?? [], []);
    });
    assert.equal(await kilobytes(), "3072");
    assert.equal(await count("NodeExpandVolume"), 1);
    const reported = await waitFor(async () => {
      const found = (await testNode.events("data")).find((event) =>
        event.startsWith("FileSystemResizeSuccessful"),
      );
      assert.ok(found);
      return found;
    });
    assert.match(reported, /MountVolume.NodeExpandVolume succeeded for volume "pv-data" node-a/);
  });

  test("the usage that the driver reports is in the summary and in metrics", async () => {
    await testNode.inside("data", "dd if=/dev/zero of=/data/big bs=1k count=1024 2>/dev/null");
    const summary = await waitFor(async () => {
      const { pods } = JSON.parse(await testNode.request("/stats/summary"));
      const volume = pods[0].volume?.find(({ name }: { name: string }) => name === "data");
      assert.ok(volume?.usedBytes >= 1024 * 1024, JSON.stringify(volume));
      return volume;
    });
    assert.equal(summary.capacityBytes, 3 * 1024 * 1024);
    assert.deepEqual(summary.pvcRef, { name: "data", namespace: "default" });
    const text = await testNode.request("/metrics");
    const labels = 'namespace="default",persistentvolumeclaim="data"';
    for (const name of [
      "available_bytes",
      "capacity_bytes",
      "used_bytes",
      "inodes",
      "inodes_free",
      "inodes_used",
    ])
      assert.match(text, new RegExp(`^kubelet_volume_stats_${name}\\{${labels}\\} `, "m"));
    const missing = volumeMetrics.filter(
      (name) => !new RegExp(`^${name}(_count)?(\\{.*\\})? `, "m").test(text),
    );
    assert.deepEqual(missing, []);
    assert.match(text, new RegExp(`^kubelet_volume_stats_capacity_bytes\\{${labels}\\} 3145728$`, "m"));
  });

  // Waiting for volumes times out after two minutes.
  const exceedsLimit =
    "a pod whose volume exceeds the attach limit of the node is rejected, and the CSINode limit is updated";
  test(long(exceedsLimit), async () => {
    const full = "full.example.com";
    const other = await testNode.driver(
      full,
      { attachRequired: true, nodeAllocatableUpdatePeriodSeconds: 3600 },
      { maxVolumes: 5 },
    );
    await other.start();
    await testNode.claim(full, "full");
    await testNode.podWithClaim("full");
    await other.configure({ maxVolumes: 1 });
    await waitFor(async () => {
      const attachError = { message: "no more slots", errorCode: 8 };
      assert.equal((await testNode.attach(full, { attached: false, attachError })).length, 1);
    });
    await waitFor(async () => {
      const { spec } = await testNode.apiNode.get<{
        spec: { drivers: { name: string; allocatable?: { count: number } }[] };
      }>(`/apis/storage.k8s.io/v1/csinodes/${nodeName}`);
      assert.equal(spec.drivers.find(({ name }) => name === full)?.allocatable?.count, 1);
    });
    const { status } = await waitFor(async () => {
      const pod = await testNode.apiNode.pod("full");
      assert.equal(pod.status?.phase, "Failed");
      return pod;
    }, 180_000);
    assert.equal(status?.reason, "VolumeAttachmentLimitExceeded");
    assert.match(
      status?.message ?? "",
      /^Pod was rejected: Node has reached its volume attachment limit, rejecting pod\. unmounted volumes=\[data\], unattached volumes=\[data\].*: no more slots$/,
    );
    await waitFor(async () =>
      assert.match(
        (await testNode.events("full")).join("\n"),
        /^VolumeAttachmentLimitExceeded: Node has reached/m,
      ),
    );
    assert.match(
      await testNode.request("/metrics"),
      /^kubelet_admission_rejections_total\{reason="VolumeAttachmentLimitExceeded"\} 1$/m,
    );
    await testNode.apiNode.deletePod("full");
    await testNode.apiNode.isGone("full");
  });

  test("after kill -9 of the agent all mounts are kept, no volume is staged or published again, and all are unmounted with the pod", async () => {
    const before = testNode.mounts();
    const containers = await testNode.apiNode.containersOf("data");
    assert.equal(before.length, 2, JSON.stringify(before));
    const calls = async () => [await count("NodeStageVolume"), await count("NodePublishVolume")];
    const called = await calls();
    await testNode.restartAgent();
    await testNode.apiNode.runs("data");
    await waitFor(async () =>
      assert.match(await testNode.request("/metrics"), /^volume_manager_total_volumes\{.*actual/m),
    );
    assert.deepEqual(testNode.mounts(), before);
    assert.deepEqual(await testNode.apiNode.containersOf("data"), containers);
    assert.deepEqual(await calls(), called);
    assert.deepEqual((await node()).status.volumesInUse, [unique], "the volume is not reported as in use");

    await testNode.apiNode.deletePod("data");
    await testNode.apiNode.isGone("data");
    await waitFor(() => assert.deepEqual(testNode.mounts(), []));
    assert.equal(await count("NodeUnpublishVolume"), 1);
    await waitFor(async () => assert.equal(await count("NodeUnstageVolume"), 1));
    await waitFor(async () => {
      const { status } = await node();
      assert.deepEqual([status.volumesInUse ?? [], status.volumesAttached ?? []], [[], []]);
      assert.deepEqual(await testNode.attach(driverName), []);
    });
  });
});
