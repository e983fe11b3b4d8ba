import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { TraceCollector } from "../cluster/trace-collector.ts";
import { containerdVersions, startTestNode } from "../node/test-node.ts";
import { podsOf } from "./agent-pods.ts";
import { AgentProcess } from "./agent-process.ts";
import { manifest, writeManifest } from "./manifests.ts";
import { waitFor } from "./wait-for.ts";

// The spans do not depend on the runtime, so one version of it is enough.
const { name: version, available } = containerdVersions().findLast(({ available }) => available === true) ?? {
  name: "2.x" as const,
  available: "no containerd",
};

describe("traces of an agent on containerd", { skip: available === true ? false : available }, () => {
  let agent: AgentProcess;
  let collector: TraceCollector;

  before(async () => {
    collector = await TraceCollector.start();
    const node = await startTestNode({ containerd: version });
    const tracing = { endpoint: collector.endpoint, samplingRatePerMillion: 1_000_000 };
    agent = await AgentProcess.create(node, { tracing });
    writeManifest(node.manifests, "web.yaml", manifest({ name: "web" }));
    agent.start();
  });
  after(async () => {
    await agent?.destroy();
    collector?.stop();
  });

  test("the spans of runtime calls are children of the span of their sync", async () => {
    await podsOf(agent).running("web", 60_000);
    assert.equal(await agent.end("SIGTERM"), 0);
    // Remaining spans are sent when the agent stops.
    const [sandbox] = await waitFor(() => {
      const found = collector.of("runtime.v1.RuntimeService/RunPodSandbox");
      assert.equal(found.length, 1);
      return found;
    });
    const pass = collector.of("syncPod").find(({ spanId }) => spanId === sandbox!.parentId);
    assert.equal(pass?.attributes["k8s.pod.update_type"], "create");
    const names = collector.childrenOf(pass!).map(({ name }) => name.split("/")[1]);
    for (const name of ["RunPodSandbox", "ImageStatus", "CreateContainer", "StartContainer"])
      assert.ok(names.includes(name), `${name} in ${names}`);
    assert.doesNotMatch(agent.log(), /accepted but not implemented yet.*tracing/);
  });
});
