import assert from "node:assert/strict";
import { after, before, describe } from "node:test";
import { podManifest, writeManifest } from "../e2e/manifests.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { containerdVersions } from "../node/test-node.ts";
import { agentNames } from "./agent-names.ts";
import { agentPages } from "./agent-pages.ts";
import { agentPodResources } from "./agent-pod-resources.ts";
import { agentPromtool } from "./agent-promtool.ts";
import { MeteredNode } from "./metered-node.ts";

const versions = containerdVersions();
const { name: containerd, available } =
  versions.findLast((version) => version.available === true) ?? versions[0]!;

describe(`a running agent (containerd ${containerd})`, {
  skip: available === true ? false : available,
}, () => {
  let started: MeteredNode | undefined;
  const node = () => started!;

  before(async () => {
    const featureGates = { ComponentFlagz: true, ComponentStatusz: true };
    started = await MeteredNode.start(containerd, () => ({ config: { featureGates } }));
    const { apiNode } = started;
    writeManifest(
      apiNode.node.manifests,
      "fixed.json",
      podManifest("fixed", { containers: [{ name: "c" }] }),
    );
    await apiNode.addPod("web", {
      resources: { limits: { cpu: "100m", memory: "64Mi" } },
      readinessProbe: { exec: { command: ["true"] }, periodSeconds: 1 },
    });
    await apiNode.addPod("crash", { command: ["sh", "-c", "exit 3"] }, { restartPolicy: "Never" });
    await apiNode.runs("web", 60_000);
    await apiNode.runs("fixed-node-a");
    await waitFor(async () => assert.equal((await apiNode.pod("crash")).status?.phase, "Failed"));
    // Metrics that exist only after the endpoint has been requested.
    await started.json("/stats/summary");
    await started.request("/metrics");
  });
  after(() => started?.destroy());

  agentNames(node);
  agentPodResources(node);
  agentPages(node);
  agentPromtool(node);
});
