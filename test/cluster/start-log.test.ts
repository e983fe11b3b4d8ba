import assert from "node:assert/strict";
import { test } from "node:test";
import { waitFor } from "../e2e/wait-for.ts";
import { AgentLog } from "./agent-log.ts";
import { TestCluster } from "./cluster-node.ts";

test("each start of a container is logged once at -v 2", async (t) => {
  const cluster = await TestCluster.start(t);
  const log = new AgentLog();
  await cluster.startAgent({ logger: log.logger });
  cluster.addPod("web", { dnsPolicy: "Default" });
  await cluster.runs("web");
  await waitFor(() => assert.equal(cluster.events("web", "Started").length, 1));
  const lines = log.lines.filter((line) => /container started/i.test(line));
  assert.equal(lines.length, 1, lines.join("\n"));
});
