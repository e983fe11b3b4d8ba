import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { credentials, Client as GrpcClient } from "@grpc/grpc-js";
import type { PodRow } from "../../src/kubelet/explain/pod-overview.ts";
import { systemClock } from "../../src/lib/base/clock.ts";
import { callUnary } from "../../src/lib/clients/cri/grpc-call.ts";
import { PodResourcesLister } from "../../src/lib/gen/podresources/v1/api_pb.js";
import { formatCpuSet, parseCpuSet } from "../../src/lib/model/cpu-set.ts";
import { seededRandom } from "../faults/seeded-random.ts";
import { long } from "../long.ts";
import { describeOnContainerd } from "../node/on-containerd.ts";
import { startTestNode, type TestNode } from "../node/test-node.ts";
import { containerIdOf, podsOf } from "./agent-pods.ts";
import { AgentProcess, cgroupFile } from "./agent-process.ts";
import { podManifest, writeManifest } from "./manifests.ts";
import { waitFor } from "./wait-for.ts";

const online = parseCpuSet(readFileSync("/sys/devices/system/cpu/online", "utf8").trim());
const [reserved = 0] = online;
const allowed = /^Cpus_allowed_list:\s*(\S*)$/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1];
const skip =
  online.size >= 2 && allowed === formatCpuSet(online)
    ? false
    : `needs two CPUs and all of them: ${formatCpuSet(online)} are online, ${allowed} are allowed here`;
const amounts = { cpu: "1", memory: "32Mi" };

describeOnContainerd("exclusive CPUs", (version) => {
  let node: TestNode;
  let agent: AgentProcess;
  const pods = () => podsOf(agent);
  const stateFile = () => join(node.rootDir, "cpu_manager_state");

  before(async () => {
    if (skip) return;
    node = await startTestNode({ containerd: version });
    agent = await AgentProcess.create(node, {
      cpuManagerPolicy: "static",
      cpuManagerReconcilePeriod: "500ms",
      reservedSystemCPUs: String(reserved),
    });
    writeManifest(node.manifests, "shared.json", podManifest("shared", { containers: [{ name: "c" }] }));
    agent.start();
    await pods().running("shared");
  });

  after(() => agent?.destroy());

  /** From the cgroup of the container: `qosCgroup` is the cgroup of the pod's QoS class. */
  function cgroupOf(row: PodRow, qosCgroup: "" | "/besteffort", file: string): string | undefined {
    return cgroupFile(`${node.cgroupRoot}/kubepods${qosCgroup}/pod${row.uid}/${containerIdOf(row)}`, file);
  }

  const sharedCpus = (expected: string) =>
    waitFor(async () =>
      assert.equal(cgroupOf(await pods().running("shared"), "/besteffort", "cpuset.cpus"), expected),
    );

  /** The exclusive CPU of the pod. */
  async function exclusiveCpu(): Promise<string> {
    const row = await pods().running("exclusive");
    return cgroupOf(row, "", "cpuset.cpus") ?? "";
  }

  function writeExclusive(note: string): void {
    const resources = { requests: amounts, limits: amounts };
    const env = [{ name: "NOTE", value: note }];
    const manifest = podManifest("exclusive", { containers: [{ name: "c", resources, env }] });
    writeManifest(node.manifests, "exclusive.json", manifest);
  }

  const without = (cpus: string) => formatCpuSet(online.difference(parseCpuSet(cpus)));

  // parity: field cpuManagerPolicy, field reservedSystemCPUs
  test("a container has an exclusive CPU, without a quota, and others lose it", { skip }, async () => {
    await sharedCpus(formatCpuSet(online));
    writeExclusive("");
    const cpus = await exclusiveCpu();
    assert.equal(parseCpuSet(cpus).size, 1);
    assert.notEqual(cpus, String(reserved));
    await sharedCpus(without(cpus));
    const row = await pods().running("exclusive");
    const quota = cgroupOf(row, "", "cpu.cfs_quota_us") ?? cgroupOf(row, "", "cpu.max")?.split(" ")[0];
    assert.match(quota ?? "", /^(-1|max)$/);
  });

  test("monitoring agents see the CPU, and which ones can be exclusive", { skip }, async () => {
    const socket = join(node.rootDir, "pod-resources/kubelet.sock");
    const client = new GrpcClient(`unix://${socket}`, credentials.createInsecure());
    const limits = { clock: systemClock, timeoutMs: 10_000, signal: undefined };
    try {
      const { podResources } = await callUnary(client, PodResourcesLister.method.list, {}, limits);
      const cpus = podResources.map(({ name, containers }) => [
        name.split("-")[0],
        containers.flatMap((c) => c.cpuIds),
      ]);
      assert.deepEqual(Object.fromEntries(cpus), { shared: [], exclusive: [BigInt(await exclusiveCpu())] });
      const all = await callUnary(client, PodResourcesLister.method.getAllocatableResources, {}, limits);
      assert.equal(formatCpuSet(all.cpuIds.map(Number)), without(String(reserved)));
    } finally {
      client.close();
    }
  });

  test("an agent that was killed keeps the assignment", { skip }, async () => {
    const before = await pods().running("exclusive");
    const [cpus, state] = [await exclusiveCpu(), readFileSync(stateFile(), "utf8")];
    assert.deepEqual(JSON.parse(state).entries, { [before.uid]: { c: cpus } });
    await agent.end("SIGKILL");
    agent.start();
    const after = await pods().running("exclusive");
    assert.equal(containerIdOf(after), containerIdOf(before));
    await sharedCpus(without(cpus));
    assert.equal(await exclusiveCpu(), cpus);
    assert.equal(readFileSync(stateFile(), "utf8"), state);
  });

  const killRounds = Number(process.env.KILL_ROUNDS ?? (version === "2.x" ? 6 : 1));
  test(long(`the CPU is exclusive however often the agent is killed, ${killRounds} rounds`), {
    skip,
  }, async () => {
    const random = seededRandom(Number(process.env.KILL_SEED ?? 20261117));
    for (let round = 0; round < killRounds; round++) {
      // A changed manifest is another pod: it gets the CPU when the previous one is gone.
      writeExclusive(`${round}`);
      await new Promise((resolve) => setTimeout(resolve, random.below(2500)));
      await agent.end("SIGKILL");
      agent.start();
      const row = await pods().waitForPod("exclusive", ({ status, ready, uid }) => {
        assert.equal(ready, "1/1");
        assert.equal(status?.phase, "Running");
        const { entries } = JSON.parse(readFileSync(stateFile(), "utf8"));
        assert.deepEqual(Object.keys(entries ?? {}), [uid], `round ${round}`);
      });
      const cpus = cgroupOf(row, "", "cpuset.cpus") ?? "";
      assert.equal(parseCpuSet(cpus).size, 1, `round ${round}`);
      await sharedCpus(without(cpus));
    }
  });

  test("other containers get the CPU back when the pod is gone", { skip }, async () => {
    rmSync(join(node.manifests, "exclusive.json"));
    await pods().gone("exclusive");
    await sharedCpus(formatCpuSet(online));
    await waitFor(() => assert.equal(JSON.parse(readFileSync(stateFile(), "utf8")).entries, undefined));
  });

  test("a pod that needs the CPUs of one that is being terminated waits for them", { skip }, async () => {
    const dir = mkdtempSync(join(tmpdir(), "exclusive-cpus-"));
    try {
      const command = [
        "sh",
        "-c",
        "trap 'until [ -e /release/now ]; do sleep 0.1; done; exit 0' TERM; while true; do sleep 1000 & wait; done",
      ];
      const pod = (name: string, cpu: string) =>
        podManifest(name, {
          terminationGracePeriodSeconds: 600,
          volumes: [{ name: "release", hostPath: { path: dir } }],
          containers: [
            {
              name: "c",
              command,
              volumeMounts: [{ name: "release", mountPath: "/release" }],
              resources: { limits: { cpu, memory: "32Mi" } },
            },
          ],
        });
      writeManifest(node.manifests, "old.json", pod("old", "1"));
      await pods().running("old");
      rmSync(join(node.manifests, "old.json"));
      await pods().inPhase("old", "Terminating");
      writeManifest(node.manifests, "next.json", pod("next", String(online.size - 1)));
      await pods().waitForPod("next", ({ blockedOn }) =>
        assert.match(blockedOn, /^waiting for resources of pods that are being terminated: default\/old-/),
      );
      writeFileSync(join(dir, "now"), "");
      const row = await pods().running("next");
      assert.equal(cgroupOf(row, "", "cpuset.cpus"), without(String(reserved)));
      await pods().gone("old");
      rmSync(join(node.manifests, "next.json"));
      await pods().gone("next");
    } finally {
      rmSync(dir, { recursive: true });
    }
  });

  test("a corrupt checkpoint prevents startup, and the log states what to do", { skip }, async () => {
    await agent.end("SIGTERM");
    const state = readFileSync(stateFile(), "utf8");
    writeFileSync(stateFile(), state.replace(/"checksum":\d/, '"checksum":'));
    agent.start();
    assert.equal(await agent.exited(), 1);
    assert.ok(
      agent
        .log()
        .includes(
          "start cpu manager error: could not restore state from checkpoint: checkpoint is corrupted, please drain this node and delete the CPU manager checkpoint file",
        ),
    );
  });
});
