import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { after, before, it } from "node:test";
import type { ObservedPod } from "../../src/kubelet/state/observed-pods.ts";
import { Stats } from "../../src/kubelet/stats/stats.ts";
import { systemClock } from "../../src/lib/base/clock.ts";
import { silentLogger } from "../../src/lib/base/logger.ts";
import { createMetrics } from "../../src/lib/base/metrics.ts";
import { epochMs, wallTime } from "../../src/lib/base/time.ts";
import { createCriClient } from "../../src/lib/clients/cri/client.ts";
import type { ContainerId, CriClient, SandboxId } from "../../src/lib/clients/cri/cri.ts";
import { cgroupFilesystem, detectLayout } from "../../src/lib/host/cgroups/mounted-cgroups.ts";
import { cgroupUsageReader } from "../../src/lib/host/cgroups/usage-reader.ts";
import { readMachineInfo } from "../../src/lib/host/node-info.ts";
import { readBootTime } from "../../src/lib/host/process-limits.ts";
import type { PodUid } from "../../src/lib/model/pod.ts";
import { eventually } from "../contracts/eventually.ts";
import { describeOnContainerd } from "../node/on-containerd.ts";
import { startTestNode, type TestNode } from "../node/test-node.ts";

const megabyte = 1024 * 1024;
/** Allocates memory, writes 1 MiB to its writable layer and uses CPU. */
const burn = `x=$(head -c ${16 * megabyte} /dev/zero | tr '\\0' x); head -c ${megabyte} /dev/zero > /written; echo ready; while :; do :; done`;

describeOnContainerd("statistics of a pod", (version) => {
  let node: TestNode;
  let client: CriClient;
  let pod: ObservedPod;
  let cgroup = "";
  const layout = detectLayout();

  before(async () => {
    node = await startTestNode({ containerd: version });
    client = createCriClient({
      runtimeEndpoint: node.endpoint,
      requestTimeoutMs: 60_000,
      logger: silentLogger,
      clock: systemClock,
      metrics: createMetrics(),
    });
    const uid = randomUUID();
    cgroup = `${node.cgroupRoot}/pod${uid}`;
    await cgroupFilesystem(await layout).create(cgroup, {});
    const logDirectory = join(node.logDir, `default_web_${uid}`);
    await mkdir(join(logDirectory, "main"), { recursive: true });
    const sandboxConfig = {
      metadata: { name: "web", namespace: "default", uid, attempt: 0 },
      logDirectory,
      linux: { cgroupParent: cgroup },
    };
    const sandboxId = (await client.runPodSandbox(sandboxConfig, "")) as SandboxId;
    const config = {
      metadata: { name: "main", attempt: 0 },
      image: { image: node.images.busybox },
      command: ["/bin/sh", "-c", burn],
      logPath: "main/0.log",
      linux: { resources: { memoryLimitInBytes: BigInt(128 * megabyte) } },
    };
    const id: ContainerId = await client.createContainer(sandboxId, config, sandboxConfig);
    await client.startContainer(id);
    pod = {
      uid: uid as PodUid,
      name: "web",
      namespace: "default",
      sandboxes: [
        {
          id: sandboxId,
          state: "ready",
          attempt: 0,
          createdAt: wallTime(Date.now()),
          ips: [],
          hostNetwork: false,
          annotations: {},
        },
      ],
      containers: [
        {
          id,
          name: "main",
          sandboxId,
          state: "running",
          attempt: 0,
          hash: "",
          image: "busybox",
          imageRef: "",
          createdAt: wallTime(Date.now()),
          startedAt: wallTime(Date.now()),
          finishedAt: wallTime(0),
          exitCode: 0,
          reason: "",
          message: "",
          logPath: join(logDirectory, "main/0.log"),
          annotations: {},
        },
      ],
    };
  });
  after(async () => {
    if (pod) await client.removePodSandbox(pod.sandboxes[0]!.id);
    client?.close();
    await node?.stop();
  });

  for (const source of ["the runtime", "cgroups"] as const)
    it(`CPU and memory from ${source} are within 5 % of the cgroup's own numbers`, async () => {
      const reader = cgroupUsageReader(await layout);
      const machine = await readMachineInfo();
      const stats = new Stats({
        nodeName: "n",
        clock: systemClock,
        logger: silentLogger,
        cgroups: reader,
        runtime: {
          listContainerStats: async (o) => (source === "cgroups" ? [] : client.listContainerStats(o)),
          listPodSandboxStats: (o) => client.listPodSandboxStats(o),
          podSandboxStatus: (id, o) => client.podSandboxStatus(id, o),
          imageFsInfo: (o) => client.imageFsInfo(o),
        },
        observed: { all: () => [pod] },
        pod: () => undefined,
        cgroupOf: () => cgroup,
        podsCgroup: node.cgroupRoot,
        systemCgroups: async () => ({}),
        rootDir: node.rootDir,
        podLogsDir: node.logDir,
        machine: { memoryBytes: Number(machine.memoryBytes), swapBytes: Number(machine.swapBytes) },
        bootedAt: wallTime(epochMs(await readBootTime())),
        startedAt: wallTime(epochMs(wallTime(Date.now()))),
        psi: true,
        isCrio: false,
        podStatsFromRuntime: false,
        maxAgeMs: 0,
      });
      const path = `${cgroup}/${pod.containers[0]!.id}`;
      const own = async () => (await reader.read(path, "all"))!;
      // The pod also has its sandbox, whose memory differs by what the kernel has charged to it.
      const whole = async () => (await reader.read(cgroup, "all"))!;
      // While it uses CPU, its memory does not change.
      await eventually(async () => {
        const usage = (await own()).memory?.usage ?? 0;
        const spent = (await own()).cpu?.usageNs ?? 0;
        return usage > 16 * megabyte && spent > 1.5e9 ? true : undefined;
      });

      const from = { container: await own(), pod: await whole() };
      const summary = await stats.summary();
      const to = { container: await own(), pod: await whole() };
      const [found] = summary.pods;
      const [container] = found!.containers;
      for (const [what, seen] of [
        ["container", container],
        ["pod", found],
      ] as const) {
        const [first, last] = [from[what], to[what]];
        between(seen?.cpu?.usageCoreNanoSeconds, first.cpu!.usageNs, last.cpu!.usageNs, `CPU of the ${what}`);
        between(
          seen?.memory?.workingSetBytes,
          first.memory!.workingSet,
          last.memory!.workingSet,
          `memory of the ${what}`,
        );
      }
      assert.ok((container?.cpu?.usageNanoCores ?? 0) > 0);
      assert.equal(found?.podRef.name, "web");
      assert.ok((found?.network?.interfaces?.length ?? 0) > 0, "the pod has no network stats");
      assert.equal(container?.logs?.inodesUsed, 1);
      assert.ok(
        (summary.node.runtime?.imageFs?.capacityBytes ?? 0) > 0,
        "the image filesystem has no capacity",
      );
      if (source === "the runtime") {
        // The runtime measures disks periodically.
        const rootfs = await eventually(async () => (await stats.summary()).pods[0]?.containers[0]?.rootfs);
        assert.ok((rootfs.capacityBytes ?? 0) > 0, "the writable layer has no capacity");
        near(
          (container?.memory?.availableBytes ?? 0) + (container?.memory?.workingSetBytes ?? 0),
          128 * megabyte,
          "memory limit",
        );
      }
      const row = (await stats.containers()).find(({ id }) => id === path);
      assert.equal(row?.container, "main");
      near(row?.usage.memory?.usage, to.container.memory!.usage, "memory of the metrics API");
    });
});

/** The value was read between these two. Memory may also have been freed in the meantime. */
function between(value: number | undefined, first: number, last: number, what: string): void {
  const [low, high] = [Math.min(first, last), Math.max(first, last)];
  assert.ok(
    value !== undefined && value >= low * 0.95 && value <= high * 1.05,
    `${what}: ${first} … ${value} … ${last}`,
  );
}

function near(value: number | undefined, expected: number, what: string): void {
  between(value, expected, expected, what);
}
