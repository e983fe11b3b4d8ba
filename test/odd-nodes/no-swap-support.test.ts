import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, test } from "node:test";
import type { CgroupLayout } from "../../src/lib/host/cgroups/layout.ts";
import { container, TestCluster } from "../cluster/cluster-node.ts";
import { waitFor } from "../e2e/wait-for.ts";

interface NodeWithInfo {
  readonly status: { readonly nodeInfo: object };
}
const swapTotal = /^SwapTotal:\s+(\d+)/m.exec(readFileSync("/proc/meminfo", "utf8"))?.[1];
/** The cgroup of v2 in which the agent of this test runs. */
const ownCgroup = /^0::(.*)$/m.exec(readFileSync("/proc/self/cgroup", "utf8"))?.[1] ?? "/";
const controllers = ["cpu", "cpuacct", "cpuset", "memory", "pids"];

function layoutOf(version: 1 | 2, dir: string): CgroupLayout {
  return version === 2
    ? { version, root: dir }
    : { version, mounts: new Map(controllers.map((name) => [name, join(dir, name)])) };
}

/** This file exists only if the kernel can limit swap. */
const swapFile = { 1: "memory/memory.memsw.limit_in_bytes", 2: join(ownCgroup, "memory.swap.max") } as const;

const mi = 1024n ** 2n;
/** The reference does not set a limit for swap unless the kernel has that file (configureContainerSwapResources), and counts no swap as off. */
const nodes: [
  version: 1 | 2,
  countsSwap: boolean,
  swapBehavior: "" | "LimitedSwap",
  limit: bigint,
  swapMax?: string,
][] = [
  [1, false, "", 0n],
  [1, true, "", 64n * mi],
  [2, false, "", 0n],
  [2, false, "LimitedSwap", 0n],
  [2, true, "LimitedSwap", 0n, "0"],
];
for (const [version, countsSwap, swapBehavior, limit, swapMax] of nodes)
  describe(`a kernel ${countsSwap ? "with" : "without"} swap support, cgroup v${version}`, {
    skip: swapTotal !== "0" && "this machine has swap",
  }, () => {
    // parity: field failSwapOn, field memorySwap.swapBehavior
    test(`failSwapOn permits the start, and a container has ${countsSwap ? "a" : "no"} limit of swap with swapBehavior "${swapBehavior}"`, async (t) => {
      const cluster = await TestCluster.start(t);
      const cgroups = join(cluster.dir, "cgroup");
      mkdirSync(cgroups);
      if (countsSwap) {
        const file = join(cgroups, swapFile[version]);
        mkdirSync(dirname(file), { recursive: true });
        writeFileSync(file, "");
      }
      await cluster.startAgent({
        config: { ...cluster.config(), failSwapOn: true, memorySwap: { swapBehavior }, oomScoreAdj: 0 },
        host: { keepsKernelTunables: true, swapsFile: join(cluster.dir, "swaps") },
        cgroupLayout: layoutOf(version, cgroups),
      });
      const resources = { requests: { memory: "16Mi" }, limits: { memory: "64Mi" } };
      const { metadata } = cluster.addPod("web", { containers: [{ ...container(), resources }] });
      await cluster.runs("web");
      const limits = cluster.containersOf(metadata.uid)[0]?.config.linux?.resources;
      assert.deepEqual(
        [limits?.memorySwapLimitInBytes, limits?.unified["memory.swap.max"]],
        [limit, swapMax],
      );
      const node = await waitFor(async () => {
        const found = cluster.api.all("nodes")[0] as unknown as NodeWithInfo | undefined;
        assert.ok(found?.status.nodeInfo, "the node is not registered yet");
        return found;
      });
      // The reference adds the capacity if it is not 0 (MachineInfo in pkg/kubelet/nodestatus).
      assert.equal("swap" in node.status.nodeInfo, false);
    });
  });

test("a machine that swaps prevents the start with failSwapOn", async (t) => {
  const cluster = await TestCluster.start(t);
  const swapsFile = join(cluster.dir, "swaps");
  writeFileSync(swapsFile, "Filename Type Size Used Priority\n/swapfile file 2097148 0 -2\n");
  const config = { ...cluster.config(), failSwapOn: true };
  await assert.rejects(cluster.startAgent({ config, host: { keepsKernelTunables: true, swapsFile } }), {
    message: /^running with swap on is not supported/,
  });
});
