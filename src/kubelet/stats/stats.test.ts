import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { mkdir, mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";
import { FakeClock } from "../../lib/base/fake-clock.ts";
import { wallTime } from "../../lib/base/time.ts";
import { CriError } from "../../lib/clients/cri/cri-error.ts";
import { fakePod } from "../../lib/model/fake-pod.ts";
import type { PodUid } from "../../lib/model/pod.ts";
import {
  FakeCgroups,
  type FakeRuntimeStats,
  fakeContainer,
  fakeHost,
  fakeObservedPod,
  fakeStatsOptions,
  fakeUsage,
  fieldTypesOf,
} from "./fake-stats.ts";
import type { StatsHost, StatsOptions } from "./options.ts";
import { Stats } from "./stats.ts";

const startedAt = 1_000_000;
const none = { avg10: 0, avg60: 0, avg300: 0, total: 0 };
const podPath = "/kubepods/podweb-uid";

function setUp(runtime: FakeRuntimeStats = {}, over: Partial<StatsOptions> = {}, version: 1 | 2 = 1) {
  const clock = new FakeClock(startedAt);
  const cgroups = new FakeCgroups(version);
  cgroups.all.set("/", fakeUsage(100e9, 400_000));
  cgroups.all.set("/kubepods", fakeUsage(20e9, 200_000, 900_000));
  cgroups.all.set(podPath, fakeUsage(10e9, 100_000, 800_000));
  cgroups.all.set(`${podPath}/c-id`, fakeUsage(8e9, 90_000, 300_000));
  cgroups.all.set(`${podPath}/sandbox-id`, fakeUsage(1e9, 1000));
  cgroups.members.set(`${podPath}/c-id`, [11, 12]);
  cgroups.members.set(`${podPath}/sandbox-id`, [10]);
  return { clock, cgroups, stats: new Stats(fakeStatsOptions(clock, cgroups, runtime, over)) };
}

const runtimeStats = {
  attributes: { id: "c-id" },
  cpu: { timestamp: BigInt(startedAt) * 1_000_000n, usageCoreNanoSeconds: { value: 7_000_000_000n } },
  memory: {
    timestamp: BigInt(startedAt) * 1_000_000n,
    workingSetBytes: { value: 80_000n },
    usageBytes: { value: 81_000n },
    rssBytes: { value: 40_000n },
    availableBytes: { value: 220_000n },
    pageFaults: { value: 3878n },
    majorPageFaults: { value: 0n },
  },
  io: { timestamp: BigInt(startedAt) * 1_000_000n },
  swap: {
    timestamp: BigInt(startedAt) * 1_000_000n,
    swapAvailableBytes: { value: 0n },
    swapUsageBytes: { value: 0n },
  },
  writableLayer: {
    timestamp: 5_000_000_000n,
    fsId: { mountpoint: "/images" },
    usedBytes: { value: 12_288n },
    inodesUsed: { value: 6n },
  },
};

async function clockWaits(clock: FakeClock): Promise<void> {
  while (clock.pending === 0) await new Promise((resolve) => setImmediate(resolve));
}

describe("summary", () => {
  it("has every field of a recorded one, of the same type", async () => {
    const logs = await mkdtemp(join(tmpdir(), "stats-logs-"));
    try {
      await mkdir(join(logs, "default_web_web-uid/c"), { recursive: true });
      await writeFile(join(logs, "default_web_web-uid/c/0.log"), "x".repeat(5000));
      const { stats, cgroups } = setUp({ containers: [runtimeStats] }, { podLogsDir: logs });
      const usage = fakeUsage(8e9, 90_000, 300_000);
      cgroups.all.set(`${podPath}/c-id`, { ...usage, memory: { ...usage.memory!, swapLimit: 0 } });
      const recorded = JSON.parse(
        readFileSync(new URL("../../../test/fixtures/stats/summary.json", import.meta.url), "utf8"),
      ) as unknown;
      const ours = fieldTypesOf(JSON.parse(JSON.stringify(await stats.summary())));
      const missing = [...fieldTypesOf(recorded)].filter(([path, type]) => ours.get(path) !== type);
      assert.deepEqual(missing, []);
      const more = [...ours.keys()].filter((path) => !fieldTypesOf(recorded).has(path));
      // The recorded kubelet did not find the cgroups of its containers; one that does reports their PSI, too.
      const psiFields = ["cpu", "io", "memory"].flatMap((resource) =>
        ["full", "some"].flatMap((line) =>
          ["avg10", "avg300", "avg60", "total"].map(
            (key) => `.pods[].containers[].${resource}.psi.${line}.${key}`,
          ),
        ),
      );
      assert.deepEqual(
        new Set(more),
        new Set([
          ...psiFields,
          ...[".pods[].memory.availableBytes", ".pods[].network.time"],
          ...["name", "rxBytes", "rxErrors", "txBytes", "txErrors"].map((key) => `.pods[].network.${key}`),
          ...["name", "rxBytes", "rxErrors", "txBytes", "txErrors"].map(
            (key) => `.pods[].network.interfaces[].${key}`,
          ),
          ".pods[].process_stats.process_count",
        ]),
      );
    } finally {
      await rm(logs, { recursive: true });
    }
  });

  it("node: machine's memory is its limit, disks, images, tasks and network are there", async () => {
    const { node } = await setUp().stats.summary();
    assert.equal(node.nodeName, "node");
    assert.equal(node.startTime, "1970-01-01T00:00:00Z");
    assert.equal(node.memory?.availableBytes, 600_000);
    assert.equal(node.cpu?.usageCoreNanoSeconds, 100e9);
    assert.equal(node.cpu?.usageNanoCores, 100e6, "since the start, when there is no second sample");
    assert.equal(node.fs?.usedBytes, 300);
    assert.deepEqual(node.runtime?.imageFs, {
      time: "1970-01-01T00:00:05Z",
      usedBytes: 3_387_392,
      inodesUsed: 315,
      availableBytes: 700,
      capacityBytes: 1000,
      inodesFree: 60,
      inodes: 100,
    });
    assert.deepEqual(node.runtime?.containerFs, node.runtime?.imageFs);
    assert.equal(node.rlimit?.maxpid, 32_768);
    assert.equal(node.network?.name, "eth0");
    assert.equal(node.network?.interfaces?.length, 1);
    assert.equal(node.swap?.swapAvailableBytes, 0);
  });

  it("system containers: those that are configured and exist", async () => {
    const { node } = await setUp(
      {},
      { systemCgroups: async () => ({ kubelet: "/kubepods", runtime: "/none" }) },
    ).stats.summary();
    assert.deepEqual(
      node.systemContainers?.map(({ name, startTime }) => [name, startTime]),
      [
        ["kubelet", "1970-01-01T00:01:40Z"],
        ["pods", "1970-01-01T00:00:00Z"],
      ],
    );
  });

  // parity: gate PodAndContainerStatsFromCRI=false, gate PodAndContainerStatsFromCRI=true
  for (const podStatsFromRuntime of [false, true])
    it(`containers, PodAndContainerStatsFromCRI=${podStatsFromRuntime}: numbers of the ${podStatsFromRuntime ? "runtime" : "cgroup"} first, then of the other`, async () => {
      const summarize = async (containers: FakeRuntimeStats["containers"], cgroup = true) => {
        const { stats, cgroups } = setUp({ containers, images: new Error("gone") }, { podStatsFromRuntime });
        if (!cgroup) cgroups.all.delete(`${podPath}/c-id`);
        return (await stats.summary()).pods[0]?.containers[0];
      };
      const numbers = async (...of: Parameters<typeof summarize>) => {
        const found = await summarize(...of);
        return [
          found?.cpu?.usageCoreNanoSeconds,
          found?.memory?.workingSetBytes,
          found?.memory?.availableBytes,
        ];
      };
      const ofRuntime = [7e9, 80_000, 220_000];
      const ofCgroup = [8e9, 90_000, 210_000];
      assert.deepEqual(await numbers([runtimeStats]), podStatsFromRuntime ? ofRuntime : ofCgroup);
      const { memory: _, ...half } = runtimeStats;
      assert.deepEqual(await numbers([half]), podStatsFromRuntime ? [7e9, 90_000, 210_000] : ofCgroup);
      assert.deepEqual(await numbers([runtimeStats], false), ofRuntime);
      assert.deepEqual((await summarize([runtimeStats]))?.rootfs?.usedBytes, 12_288);
      assert.equal((await summarize([runtimeStats]))?.rootfs?.capacityBytes, 1000);
      for (const code of ["UNIMPLEMENTED", "UNAVAILABLE"] as const) {
        const failure = new CriError(code, "ListContainerStats", "no");
        assert.deepEqual(await numbers(failure), ofCgroup);
        assert.equal((await summarize(failure))?.rootfs, undefined);
      }
    });

  it("a container without a memory limit has no available memory, whatever the runtime reports", async () => {
    const unlimited = { ...runtimeStats, memory: { ...runtimeStats.memory, availableBytes: { value: 0n } } };
    const { stats, cgroups } = setUp({ containers: [unlimited] });
    cgroups.all.set(`${podPath}/c-id`, fakeUsage(8e9, 90_000));
    const [container] = (await stats.summary()).pods[0]!.containers;
    assert.equal(container?.memory?.workingSetBytes, 90_000);
    assert.ok(!("availableBytes" in container!.memory!));
  });

  it("swap of containers: the cgroup's, otherwise the runtime's, and none where the machine has none", async () => {
    const { swap: _, ...silent } = runtimeStats;
    const swapOf = async (containers: (typeof silent)[], swapBytes: number, counted = true) => {
      const machine = { memoryBytes: 1_000_000, swapBytes };
      const { stats, cgroups } = setUp({ containers }, { machine });
      const usage = fakeUsage(8e9, 90_000);
      cgroups.all.set(`${podPath}/c-id`, {
        ...usage,
        memory: { ...usage.memory!, swap: 77, swapLimit: 100 },
      });
      if (!counted) cgroups.all.delete(`${podPath}/c-id`);
      const { time: _time, ...swap } = (await stats.summary()).pods[0]!.containers[0]?.swap ?? { time: "" };
      return swap;
    };
    const ofCgroup = { swapAvailableBytes: 23, swapUsageBytes: 77 };
    const nothing = { swapAvailableBytes: 0, swapUsageBytes: 0 };
    assert.deepEqual(await swapOf([runtimeStats], 5000), ofCgroup);
    assert.deepEqual(await swapOf([], 0), ofCgroup);
    assert.deepEqual(await swapOf([runtimeStats], 5000, false), nothing);
    assert.deepEqual(await swapOf([silent], 0, false), nothing);
    assert.deepEqual(await swapOf([silent], 5000, false), {});
  });

  it("v2: PSI of containers comes from the cgroup, the other stats from a runtime that is preferred", async () => {
    const { stats, cgroups } = setUp({ containers: [runtimeStats] }, { podStatsFromRuntime: true }, 2);
    const line = { avg10: 1, avg60: 2, avg300: 3, total: 4 };
    const cpu = { some: line, full: { ...line, total: 5 } };
    cgroups.all.set(`${podPath}/c-id`, { ...fakeUsage(8e9, 90_000), pressure: { cpu } });
    const [pod] = (await stats.summary()).pods;
    assert.equal(pod?.containers[0]?.cpu?.usageCoreNanoSeconds, 7e9);
    assert.deepEqual(pod?.containers[0]?.cpu?.psi, { full: { ...line, total: 5 }, some: line });
  });

  it("v1: PSI of containers is present and zero, regardless of what else the runtime reports", async () => {
    const { io: _, ...silent } = runtimeStats;
    for (const containers of [[runtimeStats], [silent], []]) {
      const [pod] = (await setUp({ containers }).stats.summary()).pods;
      const [container] = pod!.containers;
      for (const part of [container?.cpu, container?.memory, container?.io])
        assert.deepEqual(part?.psi, { full: none, some: none });
      assert.equal(container?.io?.time, container?.cpu?.time);
    }
  });

  it("a summary of CPU and memory only has their PSI, and no I/O", async () => {
    const { stats } = setUp(
      { containers: [runtimeStats] },
      { systemCgroups: async () => ({ kubelet: "/kubepods" }) },
    );
    const text = JSON.stringify(await stats.cpuAndMemory());
    assert.doesNotMatch(text, /"io"/);
    assert.match(text, /"psi"/);
  });

  // parity: gate KubeletPSI=true as psi
  it("rows of cgroups have their PSI only with the gate", async () => {
    const line = { avg10: 1, avg60: 2, avg300: 3, total: 4 };
    for (const psi of [true, false]) {
      const { stats, cgroups } = setUp({}, { psi }, 2);
      cgroups.all.set(podPath, { ...fakeUsage(1, 1), pressure: { cpu: { some: line, full: line } } });
      const row = (await stats.containers()).find(({ id }) => id === podPath);
      assert.equal(row?.usage.pressure.cpu !== undefined, psi);
    }
  });

  it("PSI and I/O are omitted if the gate is off", async () => {
    const summary = JSON.stringify(await setUp({}, { psi: false }).stats.summary());
    assert.doesNotMatch(summary, /"psi"|"io"/);
  });

  it("systemd cgroup names are found, too", async () => {
    const { stats, cgroups } = setUp();
    cgroups.all.delete(`${podPath}/c-id`);
    cgroups.all.set(`${podPath}/cri-containerd-c1d.scope`, fakeUsage(5e9, 50_000));
    assert.equal((await stats.summary()).pods[0]?.containers[0]?.cpu, undefined);
    const other = setUp(
      {},
      { observed: { all: () => [fakeObservedPod("web", [fakeContainer("c", { id: "c1d" as never })])] } },
    );
    other.cgroups.all.set(`${podPath}/cri-containerd-c1d.scope`, fakeUsage(5e9, 50_000));
    assert.equal((await other.stats.summary()).pods[0]?.containers[0]?.cpu?.usageCoreNanoSeconds, 5e9);
  });

  it("a pod without its own cgroup is the sum of its containers", async () => {
    const two = [runtimeStats, { ...runtimeStats, attributes: { id: "d-id" } }];
    const observed = { all: () => [fakeObservedPod("web", [fakeContainer("c"), fakeContainer("d")])] };
    const [pod] = (await setUp({ containers: two }, { cgroupOf: () => undefined, observed }).stats.summary())
      .pods;
    assert.equal(pod?.cpu?.usageCoreNanoSeconds, 14e9);
    assert.equal(pod?.memory?.workingSetBytes, 160_000);
    assert.equal(pod?.network, undefined);
  });

  it("the stats of a pod are those of the runtime if the gate is on", async () => {
    const sandbox = {
      attributes: { id: "sandbox-id" },
      linux: {
        cpu: runtimeStats.cpu,
        memory: runtimeStats.memory,
        network: {
          timestamp: 1n,
          defaultInterface: { name: "eth0", rxBytes: { value: 99n } },
          interfaces: [{ name: "eth0", rxBytes: { value: 99n } }, { name: "eth1" }],
        },
        process: { timestamp: 1n, processCount: { value: 42n } },
      },
    };
    const options = { podStatsFromRuntime: true };
    const [pod] = (await setUp({ containers: [runtimeStats], sandboxes: [sandbox] }, options).stats.summary())
      .pods;
    assert.equal(pod?.memory?.workingSetBytes, 80_000);
    assert.equal(pod?.network?.rxBytes, 99);
    assert.deepEqual(
      pod?.network?.interfaces?.map(({ name }) => name),
      ["eth0", "eth1"],
      "those that the runtime lists, each once",
    );
    assert.equal(pod?.process_stats?.process_count, 42);
  });

  it("pods without running containers are omitted", async () => {
    const observed = { all: () => [fakeObservedPod("web", [fakeContainer("c", { state: "exited" })])] };
    assert.deepEqual((await setUp({}, { observed }).stats.summary()).pods, []);
  });

  it("volumes: all are reported, only ephemeral ones are the pod's own disk", async () => {
    const volume = { time: wallTime(startedAt), usedBytes: 50, inodesUsed: 5, capacityBytes: 1000 };
    const pod = fakePod({
      spec: {
        containers: [{}],
        volumes: [
          { name: "scratch", emptyDir: {} },
          { name: "ram", emptyDir: { medium: "Memory" } },
          { name: "data", persistentVolumeClaim: { claimName: "claim" } },
        ],
      },
    });
    const { stats } = setUp(
      { containers: [runtimeStats] },
      {
        pod: () => pod,
        volumes: {
          stats: async () => [
            { ...volume, name: "scratch", claim: undefined },
            { ...volume, name: "ram", claim: undefined },
            { ...volume, name: "data", claim: { namespace: "default", name: "claim" }, healthy: false },
          ],
        },
      },
    );
    const [found] = (await stats.summary()).pods;
    assert.deepEqual(found?.volume?.[2]?.pvcRef, { name: "claim", namespace: "default" });
    assert.deepEqual(found?.volume?.[2]?.volumeHealthStats, { abnormal: true });
    assert.equal(found?.volume?.length, 3);
    assert.equal(found?.["ephemeral-storage"]?.usedBytes, 12_288 + 50);
    assert.equal(found?.["ephemeral-storage"]?.inodesUsed, 6 + 5);
  });

  it("the hosts file counts as ephemeral storage of its pod", async () => {
    const root = await mkdtemp(join(tmpdir(), "stats-root-"));
    try {
      const file = join(root, "pods/web-uid/etc-hosts");
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, "x".repeat(100_000));
      const { blocks } = await stat(file);
      assert.ok(blocks > 0);
      const { stats } = setUp({ containers: [runtimeStats] }, { rootDir: root });
      const [pod] = await stats.storageOf(new Set(["web-uid" as PodUid]), { layers: true });
      assert.equal(pod?.["ephemeral-storage"]?.usedBytes, 12_288 + blocks * 512);
    } finally {
      await rm(root, { recursive: true });
    }
  });

  it("termination message files of all containers count for evictions, not in the summary", async () => {
    const root = await mkdtemp(join(tmpdir(), "stats-root-"));
    try {
      // Two starts of the running container, and an init container that has terminated.
      for (const [name, file] of [
        ["c", "1a"],
        ["c", "2b"],
        ["init", "3c"],
      ] as const) {
        const dir = join(root, "pods/web-uid/containers", name);
        await mkdir(dir, { recursive: true });
        await writeFile(join(dir, file), "x".repeat(100_000));
      }
      const { stats } = setUp({ containers: [runtimeStats] }, { rootDir: root });
      const [summary] = (await stats.summary()).pods;
      const [found] = await stats.storageOf(new Set(["web-uid" as PodUid]), { layers: true });
      const ofOne = (await stat(join(root, "pods/web-uid/containers/c/1a"))).blocks * 512;
      assert.ok(ofOne >= 100_000);
      const pod = (from: typeof found) => from?.["ephemeral-storage"]?.usedBytes ?? 0;
      const container = (from: typeof found) => from?.containers[0]?.logs?.usedBytes ?? 0;
      assert.deepEqual([container(summary), pod(summary)], [0, 12_288]);
      assert.deepEqual([container(found), pod(found)], [2 * ofOne, 12_288 + 3 * ofOne]);
      assert.equal(found?.containers[0]?.logs?.inodesUsed, 2);
    } finally {
      await rm(root, { recursive: true });
    }
  });

  it("current CPU: waits for a second sample unless there is a recent one; counters are reported immediately", async () => {
    const { stats, clock, cgroups } = setUp({}, { secondSampleMs: 1000 });
    const use = (ns: number) => cgroups.all.set("/", fakeUsage(ns, 1));
    assert.equal((await stats.totals()).node.cpu?.usageCoreNanoSeconds, 100e9);
    const { stats: cold, clock: time, cgroups: others } = setUp({}, { secondSampleMs: 1000 });
    const first = cold.cpuAndMemory();
    await clockWaits(time);
    others.all.set("/", fakeUsage(101.5e9, 1));
    await time.advance(1000);
    assert.equal((await first).node.cpu?.usageNanoCores, 1.5e9);
    use(102e9);
    await clock.advance(10_000);
    assert.equal((await stats.cpuAndMemory()).node.cpu?.usageNanoCores, 0.2e9);
  });

  it("no disk is read for CPU and memory only", async () => {
    const host = {
      network: () => Promise.reject(new Error("requested a network")),
      space: () => Promise.reject(new Error("requested a disk")),
      tasks: () => Promise.reject(new Error("requested tasks")),
      device: () => Promise.reject(new Error("requested a device")),
    };
    const { node, pods } = await setUp({ containers: [runtimeStats] }, { host }).stats.cpuAndMemory();
    assert.deepEqual(Object.keys(node), [
      "nodeName",
      "systemContainers",
      "startTime",
      "cpu",
      "memory",
      "swap",
    ]);
    assert.equal(pods[0]?.containers[0]?.cpu?.usageCoreNanoSeconds, 8e9);
    assert.equal(pods[0]?.containers[0]?.rootfs, undefined);
    assert.equal(pods[0]?.["ephemeral-storage"], undefined);
  });
});

describe("cgroup rows", () => {
  it("processes that were OOM-killed count for their container, and not for the cgroups around it", async () => {
    const { stats, cgroups } = setUp({ containers: [runtimeStats] });
    // As v2 counts: each cgroup with all below.
    for (const path of ["/", "/kubepods", podPath, `${podPath}/c-id`]) {
      const usage = fakeUsage(1, 1);
      const ownOomKills = path.endsWith("/c-id") ? 1 : 0;
      cgroups.all.set(path, { ...usage, memory: { ...usage.memory!, oomKills: 3, ownOomKills } });
    }
    const rows = new Map((await stats.containers()).map(({ id, usage }) => [id, usage.memory?.oomKills]));
    assert.deepEqual(
      ["/", "/kubepods", podPath, `${podPath}/c-id`].map((path) => rows.get(path)),
      // OOM kills in cgroups that the container has created count as OOM kills of the container.
      [0, 0, 0, 3],
    );
  });

  it("machine, QoS cgroups, pods, sandboxes and containers", async () => {
    const sandboxStatus = { info: { info: JSON.stringify({ pid: 10, image: "example.com/pause:3" }) } };
    const { stats, cgroups } = setUp({ containers: [runtimeStats], sandboxStatus });
    cgroups.all.set("/kubepods/burstable", fakeUsage(1, 1));
    cgroups.all.set("/kubepods/podstranger", fakeUsage(1, 1));
    const rows = await stats.containers();
    assert.deepEqual(
      rows.map(({ id, name, pod, container }) => [id, name, pod, container]),
      [
        ["/", "", "", ""],
        ["/kubepods", "", "", ""],
        ["/kubepods/burstable", "", "", ""],
        [podPath, "", "web", ""],
        [`${podPath}/c-id`, "c-id", "web", "c"],
        [`${podPath}/sandbox-id`, "sandbox-id", "web", ""],
      ],
    );
    const [machine, , , , container, sandbox] = rows;
    assert.equal(machine?.network?.length, 1);
    assert.equal(sandbox?.network?.length, 1, "a pod's network is reported at its sandbox");
    assert.equal(sandbox?.image, "example.com/pause:3");
    assert.equal(container?.network, undefined);
    assert.equal(container?.processes, 2);
    for (const row of rows)
      assert.ok(
        [row.processes, row.tasks, row.openFiles, row.openSockets].every((of) => of !== undefined),
        row.id,
      );
    assert.ok(machine!.openFilesLimit! > 0, "that of the first process");
    assert.equal(rows[1]?.openFilesLimit, undefined, "a group has no first process");
    assert.equal(container?.layer?.usedBytes, 12_288);
  });
});

describe("CRI-O", () => {
  /** A pod as CRI-O creates it: a sandbox without a process, and the monitor of the container in a cgroup of its own. */
  function crioPod(suffix: "" | ".scope", over: Partial<StatsOptions> = {}, version: 1 | 2 = 1) {
    const read: (number | "self")[] = [];
    const host: StatsHost = {
      ...fakeHost,
      network: (pid) => {
        read.push(pid);
        return fakeHost.network(pid);
      },
    };
    const { stats, cgroups } = setUp(
      { containers: [runtimeStats] },
      { isCrio: true, host, ...over },
      version,
    );
    for (const id of ["c-id", "sandbox-id"]) {
      cgroups.all.delete(`${podPath}/${id}`);
      cgroups.members.delete(`${podPath}/${id}`);
    }
    const add = (dir: string, usageNs: number, pids: number[]) => {
      cgroups.all.set(`${podPath}/${dir}`, fakeUsage(usageNs, 90_000, 300_000));
      cgroups.members.set(`${podPath}/${dir}`, pids);
      return `${podPath}/${dir}`;
    };
    add(`crio-conmon-c-id${suffix}`, 1e9, [20]);
    add("crio-sandbox-id", 0, []);
    const container = add(`crio-c-id${suffix}`, 8e9, [11, 12]);
    return { stats, cgroups, read, container };
  }

  for (const suffix of ["", ".scope"] as const)
    it(`rows have the labels of cAdvisor, and the network of a process of the pod: crio-<id>${suffix}`, async () => {
      const { stats, read } = crioPod(suffix);
      const rows = (await stats.containers()).filter(({ id }) => id.startsWith(`${podPath}/`));
      assert.deepEqual(
        rows.map(({ id, name, pod, container }) => [id, name, pod, container]),
        [
          [`${podPath}/crio-sandbox-id`, "k8s_POD_web_default_web-uid_0", "web", "POD"],
          [`${podPath}/crio-c-id${suffix}`, "k8s_c_web_default_web-uid_0", "web", "c"],
        ],
      );
      assert.deepEqual(
        rows.map(({ network }) => network?.length),
        [1, undefined],
      );
      assert.deepEqual(read.slice(-1), [11], "not its monitor, which is in the network of the machine");
      assert.equal(rows[1]?.layer?.usedBytes, 12_288);
    });

  it("the summary has the values of cgroups, the network and the processes", async () => {
    const { stats, read } = crioPod(".scope");
    const [pod] = (await stats.summary()).pods;
    const [container] = pod!.containers;
    assert.equal(container?.cpu?.usageCoreNanoSeconds, 8e9);
    assert.equal(container?.memory?.pageFaults, 10);
    assert.equal(pod?.network?.name, "eth0");
    assert.ok(!read.includes(20));
    assert.equal(pod?.process_stats?.process_count, 2);
  });

  for (const podStatsFromRuntime of [false, true])
    it(`filesystems, PodAndContainerStatsFromCRI=${podStatsFromRuntime}: ${podStatsFromRuntime ? "as the runtime reports them" : "as cAdvisor measures them"}`, async () => {
      const usage = (mountpoint: string, used: bigint) => ({
        fsId: { mountpoint },
        usedBytes: { value: used },
        inodesUsed: { value: 7n },
      });
      const storage = "/var/lib/containers/storage";
      const images = {
        imageFilesystems: [usage(`${storage}/overlay-images`, 100n)],
        containerFilesystems: [usage(`${storage}/overlay-containers`, 200n)],
      };
      const layer = `${storage}/overlay/1a2b`;
      const writableLayer = { ...runtimeStats.writableLayer, fsId: { mountpoint: `${layer}/merged` } };
      // The merged mount: a filesystem of its own.
      const host: StatsHost = {
        ...fakeHost,
        space: async (path) => {
          assert.doesNotMatch(path, /merged/);
          return fakeHost.space(path);
        },
        device: async (path) => (path.endsWith("/merged") ? "0:45" : "8:0"),
      };
      const { stats, cgroups } = setUp(
        { containers: [{ ...runtimeStats, writableLayer }], images },
        { isCrio: true, host, podStatsFromRuntime },
      );
      const { node, pods } = await stats.summary();
      const { imageFs, containerFs } = node.runtime!;
      assert.equal(imageFs?.usedBytes, 100);
      assert.equal(imageFs?.inodesUsed, podStatsFromRuntime ? 7 : 40);
      assert.equal(containerFs?.usedBytes, podStatsFromRuntime ? 200 : 100);
      assert.equal(pods[0]?.containers[0]?.rootfs?.capacityBytes, 1000);
      assert.equal(pods[0]?.process_stats?.process_count, 3, "with that of the sandbox");
      assert.ok(cgroups.members.has(`${podPath}/sandbox-id`));
      const rows = await stats.containers();
      const row = rows.find(({ containerId }) => containerId === "c-id");
      assert.equal(row?.layer?.usedBytes, 12_288);
      assert.notEqual(row.layer.device, "0:45");
    });

  it("v2: the network of a container whose processes crun runs in a child cgroup", async () => {
    const { stats, cgroups, container, read } = crioPod(".scope", {}, 2);
    cgroups.members.delete(container);
    cgroups.all.set(`${container}/container`, fakeUsage(8e9, 90_000));
    cgroups.members.set(`${container}/container`, [13]);
    assert.equal((await stats.summary()).pods[0]?.network?.name, "eth0");
    await stats.containers();
    assert.deepEqual(
      read.filter((pid) => pid !== "self"),
      [13, 13],
    );
  });
});

describe("the values that eviction decisions depend on", () => {
  const everything = { memory: true, pods: true, disks: true, tasks: true };
  /** A node with this many pods, each in its own cgroup with one container, that counts what is read. */
  function counted(pods: number) {
    const reads: string[] = [];
    const names = Array.from({ length: pods }, (_, i) => `p${i}`);
    const { cgroups, stats } = setUp(
      { containers: names.map((name) => ({ ...runtimeStats, attributes: { id: `${name}-id` } })) },
      {
        observed: { all: () => names.map((name) => fakeObservedPod(name, [fakeContainer(name)])) },
        host: {
          ...fakeHost,
          space: (path) => {
            reads.push(`space ${path}`);
            return fakeHost.space(path);
          },
        },
        volumes: {
          stats: async (uid) => {
            reads.push(`volumes ${uid}`);
            return [];
          },
        },
      },
    );
    for (const name of names) {
      cgroups.all.set(`/kubepods/pod${name}-uid`, fakeUsage(1e9, 1000));
      cgroups.all.set(`/kubepods/pod${name}-uid/${name}-id`, fakeUsage(1e9, 1000));
    }
    const read = cgroups.read.bind(cgroups);
    cgroups.read = (path) => {
      reads.push(`cgroup ${path}`);
      return read(path);
    };
    return { stats, reads, names };
  }

  it("is measured with the same reads however many pods there are", async () => {
    for (const pods of [0, 110]) {
      const { stats, reads } = counted(pods);
      assert.deepEqual(await stats.pressure.layout(), { dedicatedImageFs: false, splitContainerFs: false });
      const { memory, pods: all, nodeFs, imageFs, tasks } = await stats.pressure.node(everything);
      assert.deepEqual(reads, ["cgroup /", "cgroup /kubepods", "space /nowhere", "space /var/lib/images"]);
      assert.deepEqual(memory, { availableBytes: 600_000, usageBytes: 401_024, workingSetBytes: 400_000 });
      assert.deepEqual(all, { availableBytes: 700_000, usageBytes: 201_024, workingSetBytes: 200_000 });
      assert.deepEqual([nodeFs?.availableBytes, imageFs?.inodesFree, tasks?.running], [700, 60, 394]);
    }
  });

  const pods: [rule: string, limit: number | undefined, memory: number, available: number | undefined][] = [
    ["all pods have what their cgroup may use beyond its working set", 900_000, 200_000, 700_000],
    ["all pods have nothing left at the limit of their cgroup", 900_000, 900_000, 0],
    ["all pods are beyond a limit that was lowered", 900_000, 1_000_000, -100_000],
    ["all pods have no known available memory without a limit", undefined, 200_000, undefined],
  ];
  for (const [rule, limit, memory, available] of pods)
    it(`memory: ${rule}`, async () => {
      const { cgroups, stats } = setUp();
      cgroups.all.set("/kubepods", fakeUsage(1, memory, limit));
      const { pods: all } = await stats.pressure.node(everything);
      assert.deepEqual(all, {
        ...(available !== undefined && { availableBytes: available }),
        usageBytes: memory + 1024,
        workingSetBytes: memory,
      });
    });

  it("is not measured where no threshold needs it", async () => {
    const { stats, reads } = counted(1);
    await stats.pressure.layout();
    const found = await stats.pressure.node({ memory: false, pods: true, disks: false, tasks: false });
    assert.deepEqual(reads, ["cgroup /kubepods"]);
    assert.deepEqual(
      [found.memory, found.nodeFs, found.imageFs, found.tasks],
      [undefined, undefined, undefined, undefined],
    );
  });

  it("the memory of 110 pods is one read of each cgroup, and no disk", async () => {
    const { stats, reads, names } = counted(110);
    const [first, second] = await Promise.all([stats.totals(), stats.totals()]);
    assert.equal(first, second, "requests at the same time share one measurement");
    const ofPods = reads.filter((read) => read.includes("/pod"));
    assert.deepEqual(
      new Set(ofPods),
      new Set(
        names.flatMap((name) => ["", `/${name}-id`].map((of) => `cgroup /kubepods/pod${name}-uid${of}`)),
      ),
    );
    assert.equal(ofPods.length, 2 * names.length);
    assert.deepEqual(
      reads.filter((read) => /^(space|volumes)/.test(read)),
      [],
    );
  });

  it("only the requested pods are measured for their own limits, and no cgroup", async () => {
    const { stats, reads } = counted(110);
    const found = await stats.storageOf(new Set(["p3-uid" as PodUid]), { layers: false });
    assert.deepEqual(
      found.map(({ podRef }) => podRef.name),
      ["p3"],
    );
    assert.deepEqual(reads, ["space /nowhere", "volumes p3-uid"]);
  });

  it("nodefs, imagefs and containerfs are separate if their devices differ", async () => {
    const layoutOf = (devices: Record<string, string>) =>
      setUp(
        {
          images: {
            imageFilesystems: [{ fsId: { mountpoint: "/images" } }],
            containerFilesystems: [{ fsId: { mountpoint: "/layers" } }],
          },
        },
        { host: { ...fakeHost, device: async (path) => devices[path] } },
      ).stats.pressure.layout();
    const [one, two] = ["8:0", "8:1"];
    assert.deepEqual(await layoutOf({ "/nowhere": one, "/images": one, "/layers": one }), {
      dedicatedImageFs: false,
      splitContainerFs: false,
    });
    assert.deepEqual(await layoutOf({ "/nowhere": one, "/images": two, "/layers": two }), {
      dedicatedImageFs: true,
      splitContainerFs: false,
    });
    assert.deepEqual(await layoutOf({ "/nowhere": one, "/images": two, "/layers": one }), {
      dedicatedImageFs: true,
      splitContainerFs: true,
    });
    await assert.rejects(() => layoutOf({ "/nowhere": one }), /imagefs device is not found: \/images/);
  });
});
