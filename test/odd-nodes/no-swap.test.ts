import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { detectLayout } from "../../src/lib/host/cgroups/mounted-cgroups.ts";
import type { Summary } from "../../src/lib/model/stats-summary.ts";
import { AgentProcess, cgroupFile } from "../e2e/agent-process.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { long } from "../long.ts";
import { MeteredNode } from "../metrics/metered-node.ts";
import { unavailable } from "../node/isolated-report.ts";
import { startTestNode } from "../node/test-node.ts";

const fixture = <T>(path: string): T =>
  JSON.parse(readFileSync(new URL(`../fixtures/${path}`, import.meta.url), "utf8")) as T;
/** Recorded on a node of the reference without swap, with one container that has a memory limit. */
const recordedSummary = fixture<Summary>("stats/summary.json");
const recordedNode = fixture<{ status: { nodeInfo: object } }>("recorded/node.json");

const layout = await detectLayout();
const swaps = readFileSync("/proc/swaps", "utf8").trim().split("\n").slice(1);
const skip = unavailable || (swaps.length > 0 && "this machine has swap");
const limit = 64 * 1024 ** 2;

describe(long("a node without swap"), { skip }, () => {
  let node: MeteredNode;
  before(async () => {
    node = await MeteredNode.start("2.x", () => ({ config: { failSwapOn: true } }));
    const resources = { requests: { memory: "16Mi" }, limits: { memory: String(limit) } };
    await node.apiNode.addPod("web", { resources });
  });
  after(() => node?.destroy());

  test("starts with failSwapOn, and reports no swap in its object and none in use in /stats/summary", async () => {
    await node.apiNode.runs("web");
    const { items } = await node.apiNode.get<{ items: (typeof recordedNode)[] }>("/api/v1/nodes");
    assert.deepEqual(
      items.map(({ status }) => "swap" in status.nodeInfo),
      ["swap" in recordedNode.status.nodeInfo],
    );
    const web = await waitFor(async () => {
      const summary = await node.json<Summary>("/stats/summary");
      const found = summary.pods.find(({ podRef }) => podRef.name === "web");
      assert.ok(found?.swap && found.containers[0]?.swap, "the pod has no statistics yet");
      return { node: summary.node.swap, pod: found.swap, container: found.containers[0].swap };
    });
    const [recordedPod] = recordedSummary.pods;
    const recorded = {
      node: recordedSummary.node.swap,
      pod: recordedPod?.swap,
      container: {
        ...recordedPod?.containers[0]?.swap,
        // The record is of cgroup v2. On v1, the reference takes the limit of memory and swap together (memory.memsw.limit_in_bytes).
        ...(layout.version === 1 && { swapAvailableBytes: limit }),
      },
    };
    const withoutTimes = (value: unknown) =>
      JSON.parse(JSON.stringify({ value }, (key, v) => (key === "time" ? undefined : v)));
    assert.deepEqual(withoutTimes(web), withoutTimes(recorded));
  });

  test("containers may not swap above their memory limit", async () => {
    const { metadata, status } = await node.apiNode.runs("web");
    const id = status?.containerStatuses?.[0]?.containerID?.split("//")[1] ?? "";
    const cgroup = `${node.apiNode.node.cgroupRoot}/kubepods/burstable/pod${metadata.uid}/${id}`;
    // The reference sets memory and swap together on v1, and swap alone on v2 (ConfigureNoSwap).
    if (layout.version === 1) assert.equal(cgroupFile(cgroup, "memory.memsw.limit_in_bytes"), String(limit));
    else assert.equal(cgroupFile(cgroup, "memory.swap.max"), "0");
  });
});

describe(long("LimitedSwap on cgroup v1"), {
  skip: unavailable || (layout.version !== 1 && "this machine has cgroup v2"),
}, () => {
  let agent: AgentProcess;
  before(async () => {
    const memorySwap = { swapBehavior: "LimitedSwap" };
    agent = await AgentProcess.create(await startTestNode({ containerd: "2.x" }), { memorySwap });
  });
  after(() => agent?.destroy());

  test("prevents the start", async () => {
    // The reference: "swap feature is enabled and LimitedSwap but it is only supported with cgroupv2".
    agent.start();
    assert.equal(await agent.exited(), 1);
    assert.match(agent.log(), /memorySwap\.swapBehavior/);
  });
});
