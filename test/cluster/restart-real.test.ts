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
const awayMs = 1000 * Number(process.env.RESTART_AWAY_SECONDS ?? 6);
const driverName = "restart.example.com";
const nodePath = `/api/v1/nodes/${nodeName}`;
const csiNodePath = `/apis/storage.k8s.io/v1/csinodes/${nodeName}`;
const pods = ["plain", "probed", "stored"];
const available = containerdVersions().find(({ name }) => name === "2.x")?.available;

/** How the agent ends, and the state of the API when it starts again. */
const ways = (["up", "away", "coming back"] as const).flatMap((api) =>
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
  const joined = (node: TestNode) => {
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
    testNode = await CsiTestNode.start("2.x", {}, { flags: joined, join: allowJoining });
    driver = await testNode.driver(driverName, {});
    await driver.start();
    await testNode.fullNode.addPod("plain");
    const probe = { exec: { command: ["true"] }, periodSeconds: 1 };
    await testNode.fullNode.addPod("probed", { readinessProbe: probe });
    await testNode.pod("stored", { csi: { driver: driverName } });
    for (const name of pods) await testNode.fullNode.runs(name);
  });
  after(async () => {
    await testNode?.destroy();
  });

  for (const { count, named } of rounds("RESTART_ROUNDS", ways.length, 2 * ways.length))
    test(
      named(`${count} times it is ready soon, with its drivers, and no pod notices`),
      { timeout: 1_200_000 },
      (t) => restarts(t, count),
    );

  async function restarts(t: TestContext, count: number): Promise<void> {
    const before = await state();
    // The baseline: an agent with credentials in a file, on this machine, now.
    const plain = [await restart("SIGTERM", "up", ["-v=2"]), await restart("SIGKILL", "up", ["-v=2"])];
    const limit = Math.max(5000, 2 * Math.max(...plain));
    t.diagnostic(`without bootstrap: ready after ${plain.join(" and ")} ms`);
    const took: number[] = [];
    for (let round = 0; round < count; round++) {
      const { signal, api } = ways[round % ways.length]!;
      const from = testNode.log().length;
      try {
        const ms = await restart(signal, api, joined(testNode.fullNode.node));
        took.push(ms);
        t.diagnostic(`round ${round}: ${signal}, API ${api}: ready after ${ms} ms`);
        assert.ok(ms <= limit, `ready after ${ms} ms, more than ${limit} ms`);
        assert.deepEqual(
          await state(),
          before,
          "neither a pod nor the node was not ready for a moment, no pod was restarted",
        );
        const log = testNode.log().slice(from);
        assert.doesNotMatch(log, /NodeNotReady|Component did not stop in time/);
        if (api === "up") assert.deepEqual(noise(log), []);
      } catch (error) {
        t.diagnostic(testNode.log().slice(from));
        throw error;
      }
    }
    figures(t, took);
    const last = `last-${count}`;
    await testNode.pod(last, { csi: { driver: driverName } });
    await testNode.fullNode.runs(last);
  }

  /** Milliseconds from when API and runtime were available until the node was ready and its driver registered. */
  async function restart(
    signal: "SIGTERM" | "SIGKILL",
    api: "up" | "away" | "coming back",
    flags: readonly string[],
  ): Promise<number> {
    const { fullNode } = testNode;
    const registrations = (await driver.calls("NodeGetInfo")).length;
    await fullNode.agent.end(signal);
    // Times in the API are whole seconds: what is written from now on is of a later one than what was before.
    const endedAt = Math.floor(Date.now() / 1000) * 1000 + 1000;
    await pause(endedAt - Date.now());
    if (api !== "up") await fullNode.api.kill();
    fullNode.startAgent(flags);
    if (api === "away") await pause(awayMs);
    if (api !== "up") fullNode.api.start();
    const agentThere = waitFor(async () => assert.ok(await fullNode.agent.pods()));
    const apiThere = waitFor(() => fullNode.get("/version"));
    await apiThere;
    const there = Date.now();
    await waitFor(async () => {
      const { status } = await fullNode.get<{ status: { conditions: Condition[] } }>(nodePath);
      const ready = status.conditions.find(({ type }) => type === "Ready");
      assert.equal(ready?.status, "True", ready?.message);
      assert.ok(Date.parse(ready.lastHeartbeatTime) >= endedAt, "it is reported by the restarted agent");
      const { spec } = await fullNode.get<{ spec: { drivers: { name: string }[] } }>(csiNodePath);
      assert.deepEqual(
        spec.drivers.map(({ name }) => name),
        [driverName],
      );
      assert.ok(
        (await driver.calls("NodeGetInfo")).length > registrations,
        "the driver was registered again",
      );
    }, 60_000);
    const ms = Date.now() - there;
    await agentThere;
    return ms;
  }

  /** Everything that a restart must not change: a lost readiness would show in the transition times. */
  async function state(): Promise<object[]> {
    const all = await Promise.all(pods.map((name) => testNode.fullNode.pod(name)));
    const { status } = await testNode.fullNode.get<{ status: { conditions: Condition[] } }>(nodePath);
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

/** Warnings and errors, but for the one that the reference logs on such a machine, too. */
function noise(log: string): string[] {
  return log.split("\n").filter((line) => /^[WEF]\d{4} /.test(line) && !line.includes("cgroup v1 detected"));
}

function figures(t: TestContext, took: readonly number[]): void {
  const sorted = [...took].sort((a, b) => a - b);
  t.diagnostic(`ready after ${sorted[sorted.length >> 1]} ms (median), ${sorted.at(-1)} ms at most`);
}
