import assert from "node:assert/strict";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { credentials, Client as GrpcClient } from "@grpc/grpc-js";
import { systemClock } from "../../src/lib/base/clock.ts";
import { callUnary } from "../../src/lib/clients/cri/grpc-call.ts";
import { PodResourcesLister } from "../../src/lib/gen/podresources/v1/api_pb.js";
import { describeOnContainerd } from "../node/on-containerd.ts";
import { startTestNode, type TestNode } from "../node/test-node.ts";
import { containerIdOf, podsOf } from "./agent-pods.ts";
import { AgentProcess, cgroupFile } from "./agent-process.ts";
import { podManifest, writeManifest } from "./manifests.ts";
import { waitFor } from "./wait-for.ts";

const withinMs = 120_000;
const amounts = { cpu: "10m", memory: "32Mi" };
const bytes = 32n << 20n;

describeOnContainerd("memory of NUMA nodes", (version) => {
  let node: TestNode;
  let agent: AgentProcess;
  const pods = () => podsOf(agent);
  const entries = () => JSON.parse(readFileSync(join(node.rootDir, "memory_manager_state"), "utf8")).entries;

  before(async () => {
    node = await startTestNode({ containerd: version });
    agent = await AgentProcess.create(node, {
      topologyManagerPolicy: "restricted",
      memoryManagerPolicy: "Static",
      kubeReserved: { memory: "100Mi" },
      evictionHard: { "memory.available": "50Mi" },
      reservedMemory: [{ numaNode: 0, limits: { memory: "150Mi" } }],
    });
    const resources = { requests: amounts, limits: amounts };
    writeManifest(
      node.manifests,
      "pinned.json",
      podManifest("pinned", { containers: [{ name: "c", resources }] }),
    );
    agent.start();
  });

  after(() => agent?.destroy());

  test("a container uses the memory of its NUMA node, and monitoring agents see it, after the agent was killed too", async () => {
    const first = await pods().running("pinned", withinMs);
    for (const isRestarted of [false, true]) {
      if (isRestarted) {
        await agent.end("SIGKILL");
        agent.start();
      }
      const row = await pods().running("pinned", withinMs);
      assert.equal(containerIdOf(row), containerIdOf(first));
      const [block] = entries()[row.uid].c;
      assert.deepEqual([block.type, BigInt(block.size)], ["memory", bytes]);
      const cgroup = `${node.cgroupRoot}/kubepods/pod${row.uid}/${containerIdOf(row)}`;
      assert.equal(cgroupFile(cgroup, "cpuset.mems"), block.numaAffinity.join(","));
      const client = new GrpcClient(
        `unix://${join(node.rootDir, "pod-resources/kubelet.sock")}`,
        credentials.createInsecure(),
      );
      try {
        const limits = { clock: systemClock, timeoutMs: 60_000, signal: undefined };
        const { podResources } = await callUnary(client, PodResourcesLister.method.list, {}, limits);
        const memory = podResources.flatMap(({ containers }) => containers.flatMap((c) => c.memory));
        assert.deepEqual(
          memory.map(({ memoryType, size, topology }) => [
            memoryType,
            size,
            topology?.nodes.map(({ ID }) => Number(ID)),
          ]),
          [["memory", bytes, block.numaAffinity]],
        );
        const all = await callUnary(client, PodResourcesLister.method.getAllocatableResources, {}, limits);
        assert.ok(all.memory.some(({ memoryType, size }) => memoryType === "memory" && size > bytes));
      } finally {
        client.close();
      }
    }
  });

  test("its memory is free when the pod is gone", async () => {
    rmSync(join(node.manifests, "pinned.json"));
    await pods().gone("pinned", withinMs);
    await waitFor(() => assert.equal(entries(), undefined), withinMs);
  });
});
