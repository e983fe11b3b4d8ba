import assert from "node:assert/strict";
import { test } from "node:test";
import { KubeApiError } from "../../src/lib/clients/kube/api-error.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { AgentLog } from "./agent-log.ts";
import { nodeName, TestCluster } from "./cluster-node.ts";

type ApiFailure = ConstructorParameters<typeof KubeApiError>[0];

const terminating: ApiFailure = {
  status: 403,
  reason: "Forbidden",
  message:
    'events "web" is forbidden: unable to create new content in namespace default because it is being terminated',
  details: { causes: [{ reason: "NamespaceTerminating", field: "metadata.namespace" }] },
};
const gone: ApiFailure = { status: 404, reason: "NotFound", message: 'namespaces "default" not found' };
const noPermission: ApiFailure = {
  status: 403,
  reason: "Forbidden",
  message: "events is forbidden: no permission",
};

for (const [what, response, warns] of [
  ["an event of a terminating namespace", terminating, false],
  ["an event of a deleted namespace", gone, false],
  ["an event that the node may not create", noPermission, true],
] as const)
  test(`${what} is ${warns ? "" : "not "}logged as a warning`, async (t) => {
    const cluster = await TestCluster.start(t);
    const { api } = cluster;
    const log = new AgentLog(4);
    await cluster.startAgent({ logger: log.logger });
    cluster.addPod("web", { dnsPolicy: "Default" });
    await cluster.runs("web");
    await waitFor(() => {
      assert.equal(cluster.events("web", "Started").length, 1);
      assert.equal(cluster.events(nodeName, "NodeReady").length, 1);
    });
    const from = log.lines.length;
    api.onRequest = (call) => {
      if (/^POST events default/.test(call)) throw new KubeApiError(response);
    };
    // Deleting a namespace deletes its pods.
    api.deletePod("web");
    await cluster.isGone("web");
    const logged = warns ? "W API server rejected event" : "I Dropped event of terminating namespace";
    await waitFor(() => assert.ok(log.messages(from).includes(logged), log.lines.slice(from).join("\n")));
    await cluster.stopAgent();
    const problems = [...new Set(log.problems(from))];
    assert.deepEqual(problems, warns ? [logged] : [], log.lines.slice(from).join("\n"));
  });
