import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import type { NodeObject } from "../../src/kubelet/node/node-types.ts";
import { wholeUnits } from "../../src/lib/model/quantity.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { nodeName, TestCluster } from "./cluster-node.ts";
import type { ApiObject } from "./fake-api.ts";

function nodeOf(cluster: TestCluster): NodeObject | undefined {
  return cluster.api.get<ApiObject & NodeObject>("nodes", "", nodeName);
}

function readyOf(cluster: TestCluster): string | undefined {
  return nodeOf(cluster)?.status.conditions?.find(({ type }) => type === "Ready")?.status;
}

// parity: flag cloud-provider, flag node-labels
test("the node is registered as configured, becomes Ready and holds a lease", async (t) => {
  const cluster = await TestCluster.start(t, {
    nodeFlags: { nodeLabels: { zone: "a" }, cloudProvider: "external" },
  });
  await cluster.startAgent();
  await waitFor(() => assert.equal(readyOf(cluster), "True"));
  const node = nodeOf(cluster)!;
  assert.equal(node.metadata.labels?.zone, "a");
  assert.deepEqual(
    node.spec.taints?.map(({ key }) => key),
    ["node.cloudprovider.kubernetes.io/uninitialized"],
  );
  const { nodeInfo, capacity, allocatable, images, runtimeHandlers, declaredFeatures } = node.status;
  assert.equal(nodeInfo?.kubeletVersion, "v1.36.4");
  assert.match(nodeInfo?.containerRuntimeVersion ?? "", /^\S+:\/\/1\.0\.0$/);
  assert.equal(images?.length, 2);
  assert.ok(runtimeHandlers);
  assert.deepEqual(declaredFeatures, [
    "ExtendWebSocketsToKubelet",
    "InPlacePodLevelResourcesVerticalScaling",
    "InPlacePodVerticalScalingInitContainers",
    "RestartAllContainersOnContainerExits",
  ]);
  assert.equal(capacity?.pods, "110");
  const kib = (text: string | undefined) => Number(wholeUnits(text ?? "")) / 1024;
  const hugePages = Object.entries(capacity ?? {}).filter(([name]) => name.startsWith("hugepages-"));
  // Other tests may have reserved huge pages.
  const hugeKib = hugePages.reduce((sum, [, size]) => sum + kib(size), 0);
  assert.equal(
    kib(capacity?.memory) - kib(allocatable?.memory),
    128 * 1024 + hugeKib,
    "allocatable is not capacity without reservations, the eviction threshold and huge pages",
  );
  await waitFor(() => {
    const lease = cluster.api.get("leases", "kube-node-lease", nodeName);
    assert.equal((lease?.spec as { holderIdentity?: string } | undefined)?.holderIdentity, nodeName);
  });
  await waitFor(() => assert.deepEqual(cluster.events(nodeName, "Starting"), ["Starting kubelet."]));
});

test("the node is not ready while the network of the runtime is not ready", async (t) => {
  const cluster = await TestCluster.start(t);
  await cluster.startAgent();
  await waitFor(() => assert.equal(readyOf(cluster), "True"));
  cluster.runtime.conditions.networkReady = false;
  await waitFor(() => assert.equal(readyOf(cluster), "False"));
  cluster.runtime.conditions.networkReady = true;
  await waitFor(() => assert.equal(readyOf(cluster), "True"));
});

test("cordoning a node or assigning a pod CIDR takes effect immediately", async (t) => {
  const cluster = await TestCluster.start(t);
  await cluster.startAgent();
  await waitFor(() => assert.equal(readyOf(cluster), "True"));
  const node = nodeOf(cluster)!;
  const spec = { ...node.spec, unschedulable: true, podCIDR: "10.1.0.0/24", podCIDRs: ["10.1.0.0/24"] };
  cluster.api.put("nodes", { ...node, spec } as unknown as ApiObject);
  await waitFor(() => {
    const [call] = cluster.runtime.callsOf("UpdateRuntimeConfig");
    assert.deepEqual(call?.request, { runtimeConfig: { networkConfig: { podCidr: "10.1.0.0/24" } } });
    assert.equal(cluster.events(nodeName, "NodeNotSchedulable").length, 1);
  }, 5000);
});

// parity: event SystemOOM
test("a machine that runs out of memory is reported by a SystemOOM event on the node; a cgroup at its limit is not", async (t) => {
  const recorded = ["6.1-container", "6.1-node", "6.1-pod"].map((name) =>
    readFileSync(new URL(`../fixtures/kernel-log/${name}.txt`, import.meta.url), "utf8").trimEnd(),
  );
  const messages = recorded.flatMap((text) => text.split("\n").map((line) => line.replace(/^.*?;/, "")));
  const cluster = await TestCluster.start(t, {
    kernelLog: async () => ({
      read: () => messages.splice(0).map((text) => ({ text, afterGap: false })),
      close() {},
    }),
  });
  await cluster.startAgent();
  const message = "System OOM encountered, victim process: busybox, pid: 687";
  await waitFor(() => assert.deepEqual(cluster.events(nodeName, "SystemOOM"), [message]));
});

// parity: event CheckLimitsForResolvConf
test("a resolver configuration of which pods get only a part is an event of the node", async (t) => {
  const cluster = await TestCluster.start(t);
  const resolvConf = join(cluster.dir, "resolv.conf");
  const domains = Array.from({ length: 30 }, (_, i) => `d${i}.test`);
  await writeFile(resolvConf, `nameserver 192.0.2.53\nsearch ${domains.join(" ")}\n`);
  const config = { ...cluster.config(), resolvConf, clusterDomain: "cluster.local" };
  const events = () => cluster.events(nodeName, "CheckLimitsForResolvConf");
  const tooMany = `Resolv.conf file '${resolvConf}' contains search line consisting of more than 29 domains!`;
  await cluster.startAgent({ config });
  await waitFor(() => assert.deepEqual(events(), [tooMany]));
  await cluster.stopAgent();
  await rm(resolvConf);
  await cluster.startAgent({ config });
  const missing = `open ${resolvConf}: no such file or directory`;
  await waitFor(() => assert.deepEqual(events(), [tooMany, missing]));
});

// parity: event KubeletSetupFailed
test("a directory that cannot be created is an event of the node before the kubelet ends", async (t) => {
  const cluster = await TestCluster.start(t);
  await mkdir(join(cluster.dir, "root"));
  await writeFile(join(cluster.dir, "root", "plugins"), "");
  await assert.rejects(cluster.startAgent(), /plugins/);
  const [message, ...others] = cluster.events(nodeName, "KubeletSetupFailed");
  assert.match(message ?? "", /plugins/);
  assert.deepEqual(others, []);
});

// parity: field podCIDR, flag pod-cidr
test("the podCIDR of the configuration is passed to the runtime, and again after a failure; then that of the node", async (t) => {
  const cluster = await TestCluster.start(t);
  const { runtime } = cluster;
  runtime.faults.add({ method: "UpdateRuntimeConfig", effect: { kind: "fail", code: "UNKNOWN" }, times: 1 });
  const passed = () =>
    runtime
      .callsOf("UpdateRuntimeConfig")
      .map(({ request, result }) => [
        (request as { runtimeConfig: { networkConfig: { podCidr: string } } }).runtimeConfig.networkConfig
          .podCidr,
        result,
      ]);
  await cluster.startAgent({ config: { ...cluster.config(), podCIDR: "10.7.0.0/24" } });
  await waitFor(() => assert.deepEqual(passed(), [["10.7.0.0/24", "UNKNOWN"]]));
  await runtime.stop();
  await runtime.start();
  await waitFor(() => assert.deepEqual(passed()[1], ["10.7.0.0/24", "OK"]));
  const node = await waitFor(() => {
    const found = cluster.api.get("nodes", "", nodeName);
    assert.ok(found);
    return found;
  });
  const spec = { ...(node.spec as object), podCIDR: "10.1.0.0/24", podCIDRs: ["10.1.0.0/24"] };
  cluster.api.put("nodes", { ...node, spec });
  await waitFor(() => assert.deepEqual(passed()[2], ["10.1.0.0/24", "OK"]));
  assert.equal(passed().length, 3);
});
