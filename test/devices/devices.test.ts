import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { nodeName } from "../cluster/cluster-node.ts";
import { NodeWithApi } from "../cluster/node-with-api.ts";
import { get } from "../e2e/agent-process.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { describeOnContainerd } from "../node/on-containerd.ts";
import { checkpointed, podResources } from "./allocations.ts";
import type { PluginSettings } from "./device-plugin.ts";
import { PluginProcess } from "./plugin-process.ts";

const [gpu, nic] = ["vendor.example/gpu", "vendor.example/nic"];
const limits = (amounts: Record<string, string>) => ({ resources: { limits: amounts } });

interface NodeObject {
  readonly status: {
    readonly capacity: Record<string, string>;
    readonly allocatable: Record<string, string>;
  };
}

describeOnContainerd("device plugins", (version) => {
  let apiNode: NodeWithApi;
  const plugins: PluginProcess[] = [];

  before(async () => {
    apiNode = await NodeWithApi.start(version);
  });
  after(async () => {
    for (const plugin of plugins) await plugin.kill();
    await apiNode?.destroy();
  });

  const plugin = (resource: string, settings: PluginSettings, isInRegistry = false) => {
    const { rootDir } = apiNode.node;
    const name = resource.replace("/", "-");
    const created = new PluginProcess(
      {
        resource,
        stateDir: join(rootDir, "..", name),
        dir: join(rootDir, "device-plugins"),
        ...(isInRegistry && { registrationSocket: join(rootDir, "plugins_registry", `${name}.sock`) }),
      },
      settings,
    );
    plugins.push(created);
    return created;
  };
  const amounts = (resource: string, capacity: string, allocatable: string) =>
    waitFor(async () => {
      const { status } = await apiNode.get<NodeObject>(`/api/v1/nodes/${nodeName}`);
      assert.deepEqual([status.capacity[resource], status.allocatable[resource]], [capacity, allocatable]);
    });
  const inside = async (name: string, command: string) => {
    const [container] = await apiNode.containersOf(name);
    assert.ok(container, `${name} runs`);
    const { stdout } = await apiNode.runtime.execSync(container.id, ["sh", "-c", command], 10);
    return Buffer.from(stdout).toString().trim();
  };
  const failed = (name: string) =>
    waitFor(async () => {
      const { status } = await apiNode.pod(name);
      assert.equal(status?.phase, "Failed");
      return status;
    });
  const explained = async (name: string) => {
    const socketPath = join(apiNode.node.rootDir, "kubelet.sock");
    const response = await get({ socketPath, path: "/explain" });
    const { pods } = JSON.parse(response?.body ?? "{}") as {
      pods: { name: string; cause: string | null; waitsFor: { text: string } | null }[];
    };
    return pods.find((pod) => pod.name === name);
  };
  const health = async (name: string) =>
    (await apiNode.pod(name)).status?.containerStatuses?.[0]?.allocatedResourcesStatus;

  test("a pod gets device, environment, mount and annotation, and PodResources and the checkpoint agree", async () => {
    const gpus = plugin(gpu, {
      devices: [{ id: "a" }, { id: "b" }, { id: "c", healthy: false }],
      preStart: true,
    });
    await gpus.start();
    await amounts(gpu, "3", "2");
    await writeFile(join(gpus.options.stateDir, "mount/file"), "from the plugin");
    const { metadata } = await apiNode.addPod("one", limits({ [gpu]: "1" }));
    await apiNode.runs("one");
    const id = await inside("one", "echo $GPU_DEVICES");
    assert.match(id, /^[ab]$/);
    assert.equal(
      await inside("one", `test -c /dev/gpu-${id} && echo ok > /dev/gpu-${id} && cat /plugin/gpu/file`),
      "from the plugin",
    );
    const [container] = await apiNode.containersOf("one");
    const { annotations } = await apiNode.runtime
      .containerStatus(container!.id)
      .then(({ status }) => status!);
    assert.equal(annotations["devices.test/gpu"], id);
    const expected = { [`one/c/${gpu}`]: id };
    assert.deepEqual(await podResources(apiNode.node.rootDir), expected);
    assert.deepEqual(
      await checkpointed(apiNode.node.rootDir, (uid) => (uid === metadata.uid ? "one" : uid)),
      expected,
    );
    assert.equal((await gpus.calls("PreStartContainer")).length, 1);
    assert.deepEqual(await health("one"), [
      { name: gpu, resources: [{ resourceID: id, health: "Healthy" }] },
    ]);
  });

  test("the health of a device is part of node and pod status", async () => {
    const [gpus] = plugins;
    assert.ok(gpus);
    const id = await inside("one", "echo $GPU_DEVICES");
    await gpus.configure({ devices: ["a", "b", "c"].map((each) => ({ id: each, healthy: each !== id })) });
    await amounts(gpu, "3", "2");
    await waitFor(async () =>
      assert.deepEqual(await health("one"), [
        { name: gpu, resources: [{ resourceID: id, health: "Unhealthy" }] },
      ]),
    );
    await gpus.configure({ devices: ["a", "b", "c"].map((each) => ({ id: each })) });
    await amounts(gpu, "3", "3");
  });

  test("a pod that needs more devices than are free is rejected, and the explanation names their users", async () => {
    await apiNode.addPod("many", limits({ [gpu]: "3" }), { nodeName });
    const { reason, message } = await failed("many");
    assert.deepEqual(
      [reason, message],
      [
        "UnexpectedAdmissionError",
        `Pod was rejected: Allocate failed due to requested number of devices unavailable for ${gpu}. Requested: 3, Available: 2, which is unexpected`,
      ],
    );
    const explanation = await explained("many");
    assert.match(
      explanation?.cause ?? "",
      /requests \d+ of vendor\.example\/gpu: 3 of 3 devices healthy, 1 in use by default\/one/,
    );
  });

  test("a plugin that registers in plugins_registry is used, and its preferred allocation is applied", async () => {
    const nics = plugin(nic, { devices: [{ id: "x" }, { id: "y" }, { id: "z" }], preferred: true }, true);
    await nics.start();
    await amounts(nic, "3", "3");
    await apiNode.addPod("two", limits({ [nic]: "2", [gpu]: "1" }));
    await apiNode.runs("two");
    assert.deepEqual((await inside("two", "echo $NIC_DEVICES; ls /dev")).match(/nic-./g), ["nic-y", "nic-z"]);
    await nics.kill();
    await amounts(nic, "3", "0");
    await nics.start();
    await amounts(nic, "3", "3");
  });

  test("an allocation that fails rejects its pod only, with the plugin's message", async () => {
    const nics = plugins[1];
    assert.ok(nics);
    await nics.configure({ faults: { Allocate: "fail" } });
    await apiNode.addPod("broken", limits({ [nic]: "1" }));
    const { reason, message } = await failed("broken");
    assert.deepEqual(
      [reason, message],
      [
        "UnexpectedAdmissionError",
        "Pod was rejected: Allocate failed due to rpc error: code = Internal desc = Allocate is broken, which is unexpected",
      ],
    );
    await nics.configure({ faults: { Allocate: "hang" } });
    await apiNode.addPod("stuck", limits({ [nic]: "1" }));
    await waitFor(async () => assert.equal((await nics.calls("Allocate")).length, 3));
    assert.match(
      (await explained("stuck"))?.waitsFor?.text ?? "",
      /waiting for devices, vendor\.example\/nic: 3 of 3 devices healthy, 2 in use/,
    );
    await apiNode.addPod("three", limits({ [gpu]: "1" }));
    await apiNode.runs("three");
    await nics.kill();
    assert.match((await failed("stuck")).message ?? "", /Allocate failed due to .*, which is unexpected/);
    await nics.configure({ faults: {} });
    await nics.start();
    await amounts(nic, "3", "3");
  });

  test("a restart of the agent does not affect running pods, and they keep their devices", async () => {
    const before = await apiNode.running();
    const allocations = await podResources(apiNode.node.rootDir);
    assert.equal(Object.keys(allocations).length, 4);
    await apiNode.agent.end("SIGKILL");
    apiNode.startAgent();
    await waitFor(async () => assert.deepEqual(await podResources(apiNode.node.rootDir), allocations));
    await amounts(gpu, "3", "3");
    await amounts(nic, "3", "3");
    await apiNode.addPod("late", limits({ [gpu]: "1" }), { nodeName });
    assert.equal((await failed("late")).reason, "UnexpectedAdmissionError");
    await apiNode.deletePod("one");
    await apiNode.isGone("one");
    await apiNode.addPod("next", limits({ [gpu]: "1" }));
    await apiNode.runs("next");
    const ids = (list: { id: string; pod: string }[]) =>
      list.filter(({ pod }) => pod !== "one" && pod !== "next").map(({ id }) => id);
    assert.deepEqual(new Set(ids(await apiNode.running())), new Set(ids(before)));
    const used = Object.entries(await podResources(apiNode.node.rootDir))
      .filter(([key]) => key.endsWith(gpu))
      .map(([, list]) => list);
    assert.equal(new Set(used).size, 3, `each has its own: ${used}`);
  });
});
