// Runs on an isolated host: an agent with the cgroups of the node e2e suite's kubelet, and its summary of two pods that were
// restarted.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { cgroupMembership } from "../../src/lib/host/cgroups/membership.ts";
import { cgroupFilesystem, detectLayout } from "../../src/lib/host/cgroups/mounted-cgroups.ts";
import { cgroupUsageReader } from "../../src/lib/host/cgroups/usage-reader.ts";
import type { Summary } from "../../src/lib/model/stats-summary.ts";
import { nodeName } from "../cluster/cluster-node.ts";
import { waitFor } from "../e2e/wait-for.ts";
import type { ContainerdVersion } from "../node/test-node.ts";
import { MeteredNode } from "./metered-node.ts";
import { differencesFrom } from "./summary-expectations.ts";

export interface SummaryReport {
  /** Differences between the last summary and the expectations. */
  readonly differences: readonly string[];
  /** The lines of /proc/<pid>/cgroup. */
  readonly cgroupsOf: Readonly<Record<"init" | "agent" | "misc", readonly string[]>>;
  readonly runtimeCgroup: readonly number[];
  readonly cadvisor: string;
  readonly log: string;
}

const pods = ["stats-busybox-0", "stats-busybox-1"];
/** Exits once, and then writes to its writable layer, its log and its volume and sends traffic to its gateway every second. */
const command = `
  if [ ! -f /test-empty-dir-mnt/0 ]; then touch /test-empty-dir-mnt/0; exit 0; fi
  gateway=$(ip route | sed -n 's/^default via \\([^ ]*\\).*/\\1/p')
  while true; do
    echo some bytes > /outside_the_volume.txt
    for i in 1 2 3 4 5 6 7 8 9 10; do echo the container prints something, ten times a second or so; done
    ping -c 1 $gateway; echo hello world >> /test-empty-dir-mnt/file; sleep 1
  done`;
/** A process that is not part of Kubernetes and allocates memory continuously. */
const daemon = "let held; setInterval(() => { held = Buffer.alloc(8e6, 1); }, 100)";

const layout = await detectLayout();
const membership = cgroupMembership(layout);
const runtimeCgroup = "/docker-daemon";
await cgroupFilesystem(layout).create(runtimeCgroup, {});
const misc = spawn(process.execPath, ["-e", daemon], { stdio: "ignore" });
const cgroupsOf = (pid: number) => readFileSync(`/proc/${pid}/cgroup`, "utf8").trim().split("\n");

// Only the runtime is started in this cgroup.
await membership.attach(runtimeCgroup, process.pid);
const node = await MeteredNode.start(process.argv[2] as ContainerdVersion, () => ({
  config: {
    cgroupRoot: "/",
    kubeletCgroups: "/kubelet",
    systemCgroups: "/system",
    volumeStatsAggPeriod: "10s",
  },
  flags: [`--runtime-cgroups=${runtimeCgroup}`],
  prepare: () => membership.attach("/", process.pid),
}));
try {
  for (const name of pods)
    await node.apiNode.addPod(
      name,
      {
        name: "busybox-container",
        command: ["sh", "-c", command],
        resources: { limits: { memory: "80M" } },
        volumeMounts: [{ name: "test-empty-dir", mountPath: "/test-empty-dir-mnt" }],
      },
      { automountServiceAccountToken: false, volumes: [{ name: "test-empty-dir", emptyDir: {} }] },
    );
  for (const name of pods)
    await waitFor(async () => {
      const { status } = await node.apiNode.pod(name);
      assert.equal(status?.containerStatuses?.[0]?.restartCount, 1, JSON.stringify(status));
    }, 120_000);
  const { status } = await node.apiNode.get<{ status: { capacity: { memory: string } } }>(
    `/api/v1/nodes/${nodeName}`,
  );
  const expected = {
    nodeName,
    cgroupVersion: layout.version,
    pods,
    memoryLimit: Number(status.capacity.memory.replace("Ki", "")) * 1024,
  };
  let differences: readonly string[] = ["no summary"];
  await waitFor(async () => {
    const now = Date.now();
    differences = differencesFrom(await node.json<Summary>("/stats/summary"), { ...expected, now });
    assert.deepEqual(differences, []);
  }, 120_000).catch(() => {});
  const report: SummaryReport = {
    differences,
    cgroupsOf: {
      init: cgroupsOf(1),
      agent: cgroupsOf(node.apiNode.agent.pid!),
      misc: cgroupsOf(misc.pid!),
    },
    runtimeCgroup: await cgroupUsageReader(layout).pids(runtimeCgroup),
    cadvisor: (await node.request("/metrics/cadvisor")).body,
    log: node.apiNode.agent.log(),
  };
  process.stdout.write(JSON.stringify(report));
} catch (error) {
  process.stderr.write(node.apiNode.agent.log().slice(-4000));
  throw error;
} finally {
  misc.kill("SIGKILL");
  if (misc.exitCode === null && misc.signalCode === null) await once(misc, "exit");
  await node.destroy();
}
