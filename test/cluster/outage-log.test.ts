import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import type { HttpKubeTransport } from "../../src/lib/clients/kube/transport.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { AgentProcess } from "./agent-process.ts";
import { nodeName, TestCluster } from "./cluster-node.ts";
import { KillableApi } from "./killable-api.ts";

/** Heartbeats, watches and statuses have all been tried by then. */
const outageMs = 1000 * Number(process.env.OUTAGE_SECONDS ?? 12);
/** Whether the node is ready, by its status. */
async function readyStatus(admin: HttpKubeTransport): Promise<string | undefined> {
  const path = `/api/v1/nodes/${nodeName}`;
  const { status } = await admin.request<{ status: { conditions: { type: string; status: string }[] } }>({
    method: "GET",
    path,
  });
  return status.conditions.find(({ type }) => type === "Ready")?.status;
}

const leasePath = `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${nodeName}`;

test("an outage of the API server is one line at its start and one at its end, at -v 2", async (t) => {
  const cluster = await TestCluster.start(t);
  const api = await KillableApi.create(nodeName);
  t.after(() => api.destroy());
  api.start();
  const admin = await api.admin();
  const agent = new AgentProcess(cluster, [
    `--kubeconfig=${api.nodeKubeconfig}`,
    "--enable-server=false",
    "-v=2",
  ]);
  const renewed = (after: number) =>
    waitFor(async () => {
      const { spec } = await admin.request<{ spec: { renewTime: string } }>({
        method: "GET",
        path: leasePath,
      });
      assert.ok(Date.parse(spec.renewTime) > after, spec.renewTime);
    });
  await agent.until(() => renewed(0));
  await agent.until(() => waitFor(async () => assert.equal(await readyStatus(admin), "True")));
  await api.kill();
  await agent.prints(/API server is unreachable, will keep trying/);
  await pause(outageMs);
  const backAt = Date.now();
  api.start();
  await agent.until(() => renewed(backAt));
  await agent.prints(/API server is reachable again/);
  const all = agent.log.trim().split("\n");
  const lines = all
    .slice(all.findIndex((line) => line.includes("API server is unreachable")))
    // Pods of other tests, whose agents write to the default directory of logs too.
    .filter((line) => !line.includes('"Cleaning up orphaned pod"'));
  const messages = lines.map((line) => `${line[0]} ${/\] "([^"]*)"/.exec(line)?.[1]}`);
  assert.deepEqual(
    messages,
    ["W API server is unreachable, will keep trying", "I API server is reachable again"],
    lines.join("\n"),
  );
  await agent.stop();
});
