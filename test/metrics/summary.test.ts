import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, it } from "node:test";
import { fieldTypesOf } from "../../src/kubelet/stats/fake-stats.ts";
import { cgroupFilesystem, detectLayout } from "../../src/lib/host/cgroups/mounted-cgroups.ts";
import type { PodStats, Summary } from "../../src/lib/model/stats-summary.ts";
import { cgroupDirs, cgroupFile } from "../e2e/agent-process.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { describeOnContainerd } from "../node/on-containerd.ts";
import { MeteredNode } from "./metered-node.ts";

const mebibyte = 1024 * 1024;
/** Allocates memory, writes to its writable layer and its volume, and uses CPU. */
const burn = `x=$(head -c ${16 * mebibyte} /dev/zero | tr '\\0' x); head -c ${mebibyte} /dev/zero > /written; head -c ${mebibyte} /dev/zero > /data/kept; while :; do :; done`;

/**
 * Fields that the recorded summary does not have: this pod has a volume and a network, the recorded one had
 * neither.
 */
const optional =
  /^\.pods\[\]\.(memory\.availableBytes|network\.|volume\[\]\.|process_stats\.|containers\[\]\.(cpu|memory|io)\.psi\.)/;

interface Spent {
  readonly cpuNs: number;
  readonly workingSet: number;
  readonly at: number;
}

describeOnContainerd("/stats/summary of a running agent", (version) => {
  let node: MeteredNode;
  before(async () => {
    const cgroups = cgroupFilesystem(await detectLayout());
    node = await MeteredNode.start(version, (root) => ({
      config: { kubeletCgroups: `${root}/agent` },
      flags: [`--runtime-cgroups=${root}/runtime`],
    }));
    await cgroups.create(`${node.apiNode.node.cgroupRoot}/runtime`, {});
    await node.apiNode.addPod(
      "burn",
      {
        command: ["sh", "-c", burn],
        resources: { limits: { cpu: "400m", memory: "128Mi" } },
        volumeMounts: [{ name: "data", mountPath: "/data" }],
      },
      { volumes: [{ name: "data", emptyDir: {} }] },
    );
    await node.apiNode.runs("burn", 60_000);
    // While it uses CPU, its memory does not change.
    await waitFor(async () => assert.ok((await own()).workingSet > 16 * mebibyte));
  });
  after(() => node?.destroy());

  /** The container's cgroup, as the kernel has it. */
  const cgroupOf = async (): Promise<string> => {
    const { metadata, status } = await node.apiNode.pod("burn");
    const id = status?.containerStatuses?.[0]?.containerID?.split("//")[1] ?? "";
    const path = `${node.apiNode.node.cgroupRoot}/kubepods/pod${metadata.uid}`;
    assert.ok(id && cgroupDirs(path).some((dir) => dir.endsWith(id)), `${id} in ${path}`);
    return `${path}/${id}`;
  };
  const own = async (): Promise<Spent> => {
    const path = await cgroupOf();
    const file = (name: string) => cgroupFile(path, name);
    const stat = (text: string | undefined, key: string) =>
      Number(new RegExp(`^${key} (\\d+)$`, "m").exec(text ?? "")?.[1] ?? 0);
    const v1 = file("cpuacct.usage");
    const cpuNs = v1 === undefined ? stat(file("cpu.stat"), "usage_usec") * 1000 : Number(v1);
    const usage = Number(file("memory.usage_in_bytes") ?? file("memory.current"));
    const memory = file("memory.stat");
    const inactive = stat(memory, "total_inactive_file") || stat(memory, "inactive_file");
    return { cpuNs, workingSet: usage - inactive, at: Date.now() };
  };
  const burning = ({ pods }: Summary): PodStats => pods.find(({ podRef }) => podRef.name === "burn")!;

  it("has every field of a recorded summary with the same type, and otherwise only optional fields", async () => {
    const recorded = fieldTypesOf(
      JSON.parse(readFileSync(new URL("../fixtures/stats/summary.json", import.meta.url), "utf8")),
    );
    const ours = await waitFor(async () => {
      const reported = await node.json<Summary>("/stats/summary");
      assert.ok(burning(reported).containers[0]?.rootfs);
      return fieldTypesOf(reported);
    }, 60_000);
    assert.deepEqual(
      [...recorded].filter(([path, type]) => ours.get(path) !== type),
      [],
    );
    assert.deepEqual(
      [...ours.keys()].filter((path) => !recorded.has(path) && !optional.test(path)),
      [],
    );
  });

  it("CPU and memory of a container are within 5 % of the cgroup's own numbers, on every page", async () => {
    const pages: [string, () => Promise<{ cpuNs: number; memory: number }>][] = [
      ["/stats/summary", async () => ofSummary(burning(await node.json<Summary>("/stats/summary")))],
      [
        "/stats/summary?only_cpu_and_memory=true",
        async () => ofSummary(burning(await node.json<Summary>("/stats/summary?only_cpu_and_memory=true"))),
      ],
      ["/metrics/resource", () => ofMetrics("/metrics/resource")],
      ["/metrics/cadvisor", () => ofMetrics("/metrics/cadvisor")],
    ];
    for (const [page, request] of pages) {
      // The agent may return a cached result that is older than the first measurement.
      await waitFor(async () => {
        const from = await own();
        const reported = await request();
        const to = await own();
        between(reported.cpuNs, from.cpuNs, to.cpuNs, `${page}: CPU`);
        between(reported.memory, from.workingSet, to.workingSet, `${page}: memory`);
      });
    }
  });

  it("current CPU is the rate between two samples, and kubectl top shows the same", async () => {
    await node.json("/stats/summary");
    const from = await own();
    const spent = await waitFor(async () => {
      const to = await own();
      assert.ok(to.at - from.at > 2000);
      return (to.cpuNs - from.cpuNs) / ((to.at - from.at) / 1000);
    });
    const now = burning(await node.json<Summary>("/stats/summary")).containers[0]?.cpu?.usageNanoCores ?? 0;
    assert.ok(now > spent / 2 && now < spent * 2, `${now} of ${spent}`);
    const top = await node.apiNode.get<{ containers: { usage: { cpu: string; memory: string } }[] }>(
      "/apis/metrics.k8s.io/v1beta1/namespaces/default/pods/burn",
    );
    const { cpu = "", memory = "" } = top.containers[0]?.usage ?? {};
    const nanoCores = Number(/^(\d+)n$/.exec(cpu)?.[1]);
    assert.ok(nanoCores > spent / 2 && nanoCores < spent * 2, `${cpu} of ${spent}`);
    between(
      Number(/^(\d+)Ki$/.exec(memory)?.[1]) * 1024,
      (await own()).workingSet,
      (await own()).workingSet,
      "top",
    );
  });

  it("a pod has its own limits, filesystems, volume, network and process count", async () => {
    // The runtime measures disks periodically.
    const pod = await waitFor(async () => {
      const found = burning(await node.json<Summary>("/stats/summary"));
      assert.ok(
        (found.containers[0]?.rootfs?.usedBytes ?? 0) >= mebibyte,
        "the writable layer is smaller than what was written",
      );
      return found;
    });
    const [container] = pod.containers;
    between(
      (container?.memory?.availableBytes ?? 0) + (container?.memory?.workingSetBytes ?? 0),
      128 * mebibyte,
      128 * mebibyte,
      "memory limit",
    );
    const data = pod.volume?.find(({ name }) => name === "data");
    assert.ok((data?.usedBytes ?? 0) >= mebibyte, "the volume is smaller than what was written");
    assert.ok(
      (pod["ephemeral-storage"]?.usedBytes ?? 0) >= 2 * mebibyte,
      "ephemeral storage is smaller than layer and volume",
    );
    assert.equal(pod.network?.name, "eth0");
    assert.ok((pod.process_stats?.process_count ?? 0) >= 1);
  });

  // parity: flag runtime-cgroups
  it("the system containers are the agent, the runtime and all pods together", async () => {
    const { node: whole } = await node.json<Summary>("/stats/summary");
    assert.deepEqual(
      whole.systemContainers?.map(({ name }) => name),
      ["kubelet", "runtime", "pods"],
    );
    const [agent, , pods] = whole.systemContainers ?? [];
    const cgroups = readFileSync(`/proc/${node.apiNode.agent.pid}/cgroup`, "utf8");
    assert.match(cgroups, new RegExp(`:${node.apiNode.node.cgroupRoot}/agent$`, "m"));
    assert.ok((agent?.memory?.rssBytes ?? 0) > mebibyte);
    assert.ok((pods?.cpu?.usageCoreNanoSeconds ?? 0) >= (await own()).cpuNs * 0.9);
    assert.ok(
      (whole.rlimit?.curproc ?? 0) > 10 && (whole.rlimit?.maxpid ?? 0) > (whole.rlimit?.curproc ?? 0),
    );
  });

  function ofSummary({ containers: [container] }: PodStats) {
    return {
      cpuNs: container?.cpu?.usageCoreNanoSeconds ?? 0,
      memory: container?.memory?.workingSetBytes ?? 0,
    };
  }

  async function ofMetrics(path: string) {
    const families = await node.metrics(path);
    const value = (name: string) =>
      families.get(name)?.samples.find(({ labels }) => labels.pod === "burn" && labels.container === "c")
        ?.value ?? 0;
    return {
      cpuNs: value("container_cpu_usage_seconds_total") * 1e9,
      memory: value("container_memory_working_set_bytes"),
    };
  }
});

function between(value: number, low: number, high: number, what: string): void {
  assert.ok(value >= low * 0.95 && value <= high * 1.05, `${what}: ${low} … ${value} … ${high}`);
}
