import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, type TestContext, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { CsiTestNode } from "../csi/csi-test-node.ts";
import type { DriverProcess } from "../csi/driver-process.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { rounds } from "../long.ts";
import { containerdVersions, type TestNode } from "../node/test-node.ts";
import { ApiUser } from "./api-user.ts";
import { nodeName } from "./cluster-node.ts";
import type { KillableApi } from "./killable-api.ts";

/** Longer than the longest pause between two attempts to reach the API. */
const downMs = 1000 * Number(process.env.RESTART_AWAY_SECONDS ?? 6);
const driverName = "restart.example.com";
const nodePath = `/api/v1/nodes/${nodeName}`;
const csiNodePath = `/apis/storage.k8s.io/v1/csinodes/${nodeName}`;
const pods = ["plain", "probed", "stored"];
const available = containerdVersions().find(({ name }) => name === "2.x")?.available;

/** The signal that stops the agent, and the state of the API when the agent starts again. */
const scenarios = (["up", "down", "starting"] as const).flatMap((api) =>
  (["SIGTERM", "SIGKILL"] as const).map((signal) => ({ signal, api })),
);

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string;
  readonly lastHeartbeatTime: string;
}

describe("restarts of a node that joined by bootstrap", {
  skip: available === true ? false : available,
}, () => {
  let testNode: CsiTestNode;
  let driver: DriverProcess;
  const files = (node: TestNode) => {
    const dir = join(node.rootDir, "..");
    return {
      kubeconfig: join(dir, "kubeconfig"),
      bootstrap: join(dir, "bootstrap"),
      certs: join(dir, "pki"),
    };
  };
  const bootstrapFlags = (node: TestNode) => {
    const { kubeconfig, bootstrap, certs } = files(node);
    return [
      "-v=2",
      `--kubeconfig=${kubeconfig}`,
      `--bootstrap-kubeconfig=${bootstrap}`,
      `--cert-dir=${certs}`,
      "--rotate-certificates",
    ];
  };

  before(async () => {
    testNode = await CsiTestNode.start("2.x", {}, { flags: bootstrapFlags, join: allowJoining });
    driver = await testNode.driver(driverName, {});
    await driver.start();
    await testNode.apiNode.addPod("plain");
    const probe = { exec: { command: ["true"] }, periodSeconds: 1 };
    await testNode.apiNode.addPod("probed", { readinessProbe: probe });
    await testNode.pod("stored", { csi: { driver: driverName } });
    for (const name of pods) await testNode.apiNode.runs(name);
  });
  after(async () => {
    await testNode?.destroy();
  });

  // parity: flag bootstrap-kubeconfig, flag cert-dir
  for (const { count, named } of rounds("RESTART_ROUNDS", scenarios.length, 2 * scenarios.length))
    test(
      named(`make it ready soon with its drivers and affect no pod, ${count} times`),
      { timeout: 1_200_000 },
      (t) => restarts(t, count),
    );

  async function restarts(t: TestContext, count: number): Promise<void> {
    const before = await state();
    // The baseline is an agent with credentials in a file.
    const plain = [await restart("SIGTERM", "up", ["-v=2"]), await restart("SIGKILL", "up", ["-v=2"])];
    const limit = Math.max(5000, 2 * Math.max(...plain));
    t.diagnostic(`without bootstrap: ready after ${plain.join(" and ")} ms`);
    const times: number[] = [];
    for (let round = 0; round < count; round++) {
      const { signal, api } = scenarios[round % scenarios.length]!;
      const from = testNode.log().length;
      try {
        const ms = await restart(signal, api, bootstrapFlags(testNode.apiNode.node));
        times.push(ms);
        t.diagnostic(`round ${round}: ${signal}, API ${api}: ready after ${ms} ms`);
        assert.ok(ms <= limit, `ready after ${ms} ms, more than ${limit} ms`);
        assert.deepEqual(await state(), before, "a pod or the node was not ready, or a pod was restarted");
        const log = testNode.log().slice(from);
        assert.doesNotMatch(log, /NodeNotReady|Component did not stop in time/);
        if (api === "up") assert.deepEqual(warningsIn(log), []);
      } catch (error) {
        t.diagnostic(testNode.log().slice(from));
        throw error;
      }
    }
    reportTimes(t, times);
    const last = `last-${count}`;
    await testNode.pod(last, { csi: { driver: driverName } });
    await testNode.apiNode.runs(last);
  }

  /** Milliseconds from when API and runtime were available until the node was ready and its driver registered. */
  async function restart(
    signal: "SIGTERM" | "SIGKILL",
    api: "up" | "down" | "starting",
    flags: readonly string[],
  ): Promise<number> {
    const { apiNode } = testNode;
    const registrations = (await driver.calls("NodeGetInfo")).length;
    await apiNode.agent.end(signal);
    // Times in the API are whole seconds: from now on, writes have a later time than those before.
    const endedAt = Math.floor(Date.now() / 1000) * 1000 + 1000;
    await pause(endedAt - Date.now());
    if (api !== "up") await apiNode.api.kill();
    apiNode.startAgent(flags);
    if (api === "down") await pause(downMs);
    if (api !== "up") apiNode.api.start();
    const agentResponds = waitFor(async () => assert.ok(await apiNode.agent.pods()));
    const apiResponds = waitFor(() => apiNode.get("/version"));
    await apiResponds;
    const availableAt = Date.now();
    await waitFor(async () => {
      const { status } = await apiNode.get<{ status: { conditions: Condition[] } }>(nodePath);
      const ready = status.conditions.find(({ type }) => type === "Ready");
      assert.equal(ready?.status, "True", ready?.message);
      assert.ok(
        Date.parse(ready.lastHeartbeatTime) >= endedAt,
        "the heartbeat is not of the restarted agent",
      );
      const { spec } = await apiNode.get<{ spec: { drivers: { name: string }[] } }>(csiNodePath);
      assert.deepEqual(
        spec.drivers.map(({ name }) => name),
        [driverName],
      );
      assert.ok(
        (await driver.calls("NodeGetInfo")).length > registrations,
        "the driver was not registered again",
      );
    }, 60_000);
    const ms = Date.now() - availableAt;
    await agentResponds;
    return ms;
  }

  /** State that a restart must not change: transition times would show that a pod was not ready in the meantime. */
  async function state(): Promise<object[]> {
    const all = await Promise.all(pods.map((name) => testNode.apiNode.pod(name)));
    const { status } = await testNode.apiNode.get<{ status: { conditions: Condition[] } }>(nodePath);
    const ready = status.conditions.find(({ type }) => type === "Ready");
    const node = { ready: ready?.status, since: ready?.lastTransitionTime };
    const ofPods = all.map(({ metadata, status }) => ({
      name: metadata.name,
      phase: status?.phase,
      conditions: status?.conditions,
      containers: status?.containerStatuses,
    }));
    return [node, ...ofPods];
  }

  async function allowJoining(node: TestNode, api: KillableApi): Promise<void> {
    const [ca, kubeconfig] = await Promise.all(
      ["pki/ca.crt", "kubeconfig"].map((name) => readFile(join(api.dir, name), "utf8")),
    );
    const url = /server: (\S+)/.exec(kubeconfig!)?.[1];
    assert.ok(url);
    const user = new ApiUser({ url, ca: ca!, kubeconfig: kubeconfig! });
    await user.allowJoining(files(node).bootstrap);
    user.close();
  }
});

/** Warnings and errors, except the one that the reference kubelet also logs on cgroup v1. */
function warningsIn(log: string): string[] {
  const aboutThisMachine = /cgroup v1 detected|Invalid kernel flag|Failed to ApplyOOMScoreAdj/;
  return log.split("\n").filter((line) => /^[WEF]\d{4} /.test(line) && !aboutThisMachine.test(line));
}

function reportTimes(t: TestContext, times: readonly number[]): void {
  const sorted = [...times].sort((a, b) => a - b);
  t.diagnostic(`ready after ${sorted[sorted.length >> 1]} ms (median), ${sorted.at(-1)} ms at most`);
}
