import assert from "node:assert/strict";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { DriverProcess } from "../csi/driver-process.ts";
import { freePort, get } from "../e2e/agent-process.ts";
import { waitFor } from "../e2e/wait-for.ts";
import type { AgentProcess } from "./agent-process.ts";
import { startApiProcess } from "./api-process.ts";
import type { ApiUser } from "./api-user.ts";
import { nodeName } from "./cluster-node.ts";
import { JoiningNode } from "./joining-node.ts";
import { startManualApprovalApi } from "./manual-approval-api.ts";

const driver = "csi.example.com";
const nodePath = `/api/v1/nodes/${nodeName}`;
const csiNodePath = `/apis/storage.k8s.io/v1/csinodes/${nodeName}`;

interface NodeStatus {
  status: { conditions: { type: string; status: string; message: string }[] };
}

for (const rotates of [true, false])
  test(`a node that joined by bootstrap ${rotates ? "with" : "without"} rotation restarts without warnings, with its CSI driver`, async (t) => {
    const api = await startApiProcess(t, { certificatesFor: "1h" });
    const node = await JoiningNode.prepare(t, api);
    await api.allowJoining(node.bootstrap);
    const registration = await csiDriver(t, node);
    const flags = [`--rotate-certificates=${rotates}`, "-v=2"];
    const first = node.agent(...flags);
    await first.until(() => isReady(api));
    await first.stop();

    for (let restart = 0; restart < 2; restart++) {
      await forget(api);
      const registrations = (await registration.calls("NodeGetInfo")).length;
      const agent = node.agent(...flags);
      await agent.until(() => isReady(api));
      assert.ok(
        (await registration.calls("NodeGetInfo")).length > registrations,
        "the driver was not registered again",
      );
      const stopping = Date.now();
      await agent.stop();
      t.diagnostic(`stopped after ${Date.now() - stopping} ms`);
      assert.deepEqual(warningsOf(agent), []);
      assert.doesNotMatch(agent.log, /Component did not stop in time/);
    }
  });

test("a node whose certificate is not approved yet is healthy, reports what it waits for, and stops immediately", async (t) => {
  const api = await startManualApprovalApi(t);
  const node = await JoiningNode.prepare(t, api);
  await api.allowJoining(node.bootstrap);
  await csiDriver(t, node);
  const port = await freePort();
  const agent = node.agent("--rotate-certificates", "-v=2", `--healthz-port=${port}`);
  await api.pendingRequest();
  await agent.prints(/Requesting certificate" certificate="client-certificate"/);
  await agent.prints(/Waiting for a client certificate before sending requests to the API server/);
  const response = await get({ host: "127.0.0.1", port, path: "/healthz?verbose" });
  assert.equal(response?.status, 200);
  assert.match(
    response.body,
    /^\[i\]client-certificate ok \(no valid client certificate for \d+s, \d+ requests are waiting: a certificate has been requested and is not issued yet\)$/m,
  );
  await agent.stop();
  assert.doesNotMatch(agent.log, /Component did not stop in time|[Rr]otat(ed|ing)/);
  assert.deepEqual(warningsOf(agent), []);
});

/** The node is ready and has its driver. */
function isReady(api: ApiUser): Promise<void> {
  return waitFor(async () => {
    const { status } = await api.get<NodeStatus>(nodePath);
    const ready = status.conditions.find(({ type }) => type === "Ready");
    assert.equal(ready?.status, "True", ready?.message);
    const { spec } = await api.get<{ spec: { drivers: { name: string }[] } }>(csiNodePath);
    assert.deepEqual(
      spec.drivers.map(({ name }) => name),
      [driver],
    );
  });
}

/** Marks the node as the node lifecycle controller marks a node without heartbeats, and removes its drivers. */
async function forget(api: ApiUser): Promise<void> {
  const condition = { type: "Ready", status: "Unknown", reason: "NodeStatusUnknown", message: "" };
  await api.patch(`${nodePath}/status`, { status: { conditions: [condition] } });
  await api.patch(csiNodePath, { spec: { drivers: null } });
}

async function csiDriver(t: TestContext, node: JoiningNode): Promise<DriverProcess> {
  const root = join(node.cluster.dir, "root");
  const process = new DriverProcess({
    name: driver,
    stateDir: join(node.cluster.dir, "csi"),
    endpoint: join(root, "plugins", driver, "csi.sock"),
    registrationSocket: join(root, "plugins_registry", `${driver}-reg.sock`),
  });
  t.after(() => process.kill());
  await process.start();
  return process;
}

/** Warnings and errors, except those about the settings of this machine, which the reference kubelet logs too. */
const warningsOf = ({ log }: AgentProcess) =>
  log.split("\n").filter((line) => /^[WEF]\d{4} /.test(line) && !aboutThisMachine.test(line));
const aboutThisMachine = /cgroup v1 detected|Invalid kernel flag|Failed to ApplyOOMScoreAdj/;
