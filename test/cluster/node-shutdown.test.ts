import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { delayIn, FakeLogind, noBus, TestBus } from "../../src/lib/clients/systemd/fake-logind.ts";
import type { Pod } from "../../src/lib/model/pod.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { container, nodeName, TestCluster } from "./cluster-node.ts";
import { explained } from "./explained.ts";

const message = "Pod was terminated in response to imminent node shutdown.";
const critical = 2_000_001_000;

/** A node whose logind is on a private bus. */
async function setUp(t: TestContext) {
  const bus = new TestBus();
  await bus.start();
  const logind = new FakeLogind(bus.socketPath);
  await logind.start();
  t.after(async () => {
    await logind.stop();
    await bus.remove();
  });
  const confDir = join(bus.dir, "logind.conf.d");
  logind.onReload = () => {
    logind.delayMs = delayIn(join(confDir, "99-kubelet.conf"));
  };
  const cluster = await TestCluster.start(t, { logind: { socketPath: bus.socketPath, confDir } });
  const config = {
    ...cluster.config(),
    shutdownGracePeriod: 60_000,
    shutdownGracePeriodCriticalPods: 20_000,
  };
  const ready = () =>
    (
      cluster.api.get("nodes", "", nodeName)?.status as {
        conditions?: { type: string; status: string; message: string }[];
      }
    )?.conditions?.find(({ type }) => type === "Ready");
  return { bus, logind, cluster, config, ready };
}

function slowStop(seconds: number) {
  return { containers: [container({ lifecycle: { preStop: { sleep: { seconds } } } })] };
}

function endOf({ status }: Pod): number {
  return Date.parse(String(status?.containerStatuses?.[0]?.state?.terminated?.finishedAt));
}

describe("a node that shuts down", { skip: noBus }, () => {
  it("terminates its pods by priority, rejects others, and recovers if the shutdown is canceled", async (t) => {
    const { cluster, logind, config, ready } = await setUp(t);
    await cluster.placeManifest("static", slowStop(1));
    await cluster.startAgent({ config });
    cluster.addPod("web", slowStop(3));
    cluster.addPod("critical", { ...slowStop(1), priority: critical });
    for (const name of ["web", "critical", `static-${nodeName}`]) await cluster.runs(name);
    await waitFor(() => assert.equal(logind.held, 1));
    assert.equal(logind.delayMs, 60_000);
    assert.deepEqual(logind.locks[0]?.args, [
      ...["shutdown", "kubelet", "Kubelet needs time to handle node shutdown", "delay"],
    ]);
    await waitFor(() => assert.equal(ready()?.status, "True"));

    const before = Math.floor(Date.now() / 1000);
    logind.prepare(true);
    await waitFor(() =>
      assert.deepEqual([ready()?.status, ready()?.message], ["False", "node is shutting down"]),
    );
    const shown = explained(join(cluster.dir, "root"));
    cluster.addPod("late");
    await cluster.waitForPod("late", ({ status }) =>
      assert.deepEqual(
        [status?.phase, status?.reason, status?.message],
        ["Failed", "NodeShutdown", "Pod was rejected: Pod was rejected as the node is shutting down."],
      ),
    );
    await shown.waitForPod(
      "late",
      ({ cause }) =>
        assert.match(cause ?? "", /^NodeShutdown: Pod was rejected: .* shutting down\.: shutdown since 20/),
      60_000,
    );
    await waitFor(() =>
      assert.deepEqual(cluster.events("late", "NodeShutdown"), [
        "Pod was rejected as the node is shutting down.",
      ]),
    );

    const [web, last] = await Promise.all(
      ["web", "critical"].map((name) =>
        cluster.waitForPod(name, ({ status }) => {
          assert.deepEqual(
            [status?.phase, status?.reason, status?.message],
            ["Failed", "Terminated", message],
          );
          assert.ok(
            status?.containerStatuses?.[0]?.state?.terminated,
            JSON.stringify(status?.containerStatuses),
          );
          const target = status?.conditions?.find(({ type }) => type === "DisruptionTarget");
          assert.deepEqual(
            [target?.status, target?.reason, target?.message],
            ["True", "TerminationByKubelet", message],
          );
        }),
      ),
    );
    assert.ok(endOf(web!) < endOf(last!), "critical pods terminate last");
    await waitFor(() => assert.equal(logind.held, 0));
    await shown.waitForPod(
      "web",
      ({ cause }) =>
        assert.match(
          cause ?? "",
          /^Terminated: .* shutdown\.: node shutdown at 20.*, 40 s for pods of priority 0 and above$/,
        ),
      60_000,
    );
    assert.deepEqual(
      cluster.api
        .all("events")
        .filter((e) => e.reason === "Shutdown")
        .map((e) => e.message),
      ["Shutdown manager detected shutdown event"],
    );
    const state = JSON.parse(readFileSync(join(cluster.dir, "root", "graceful_node_shutdown_state"), "utf8"));
    assert.ok(
      Date.parse(state.startTime) / 1000 >= before && state.endTime > state.startTime,
      JSON.stringify(state),
    );
    const text = await cluster.agent.metrics.registry.metrics();
    for (const [name, time] of [
      ["start", state.startTime],
      ["end", state.endTime],
    ])
      assert.ok(
        text.includes(
          `kubelet_graceful_shutdown_${name}_time_seconds ${Math.floor(Date.parse(time) / 1000)}`,
        ),
        name,
      );

    logind.prepare(false);
    await waitFor(() => assert.deepEqual([logind.held, ready()?.status], [1, "True"]));
    cluster.addPod("next");
    await cluster.runs("next");

    // As after a reboot: what the API server calls failed remains failed, static pods run again.
    await cluster.stopAgent();
    await waitFor(() => assert.equal(logind.held, 0));
    await cluster.startAgent({ config });
    await cluster.runs(`static-${nodeName}`);
    await cluster.runs("next");
    assert.equal(cluster.api.pod("web")?.status?.phase, "Failed");
    assert.equal(cluster.runningOf(web!.metadata.uid).length, 0);
    await waitFor(() => assert.equal(logind.held, 1));
  });

  it("holds a lock again after a restart of logind and of the bus", async (t) => {
    const { bus, cluster, logind, config } = await setUp(t);
    await cluster.startAgent({ config });
    await waitFor(() => assert.equal(logind.held, 1));
    await logind.stop();
    await logind.start();
    await waitFor(() => assert.deepEqual([logind.locks.length, logind.held], [2, 1]));
    await bus.stop();
    await bus.start();
    await logind.start();
    await waitFor(() => assert.deepEqual([logind.locks.length, logind.held], [3, 1]));
  });
});
