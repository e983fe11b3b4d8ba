import assert from "node:assert/strict";
import { after, before, describe } from "node:test";
import { holds } from "../e2e/holds.ts";
import { place, podManifest } from "../e2e/manifests.ts";
import { containerdVersions } from "../node/test-node.ts";
import { agentNames } from "./agent-names.ts";
import { agentPages } from "./agent-pages.ts";
import { agentPodResources } from "./agent-pod-resources.ts";
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
    const { whole } = started;
    place(whole.node.manifests, "fixed.json", podManifest("fixed", { containers: [{ name: "c" }] }));
    await whole.addPod("web", {
      resources: { limits: { cpu: "100m", memory: "64Mi" } },
      readinessProbe: { exec: { command: ["true"] }, periodSeconds: 1 },
    });
    await whole.addPod("crash", { command: ["sh", "-c", "exit 3"] }, { restartPolicy: "Never" });
    await whole.runs("web", 60_000);
    await whole.runs("fixed-node-a");
    await holds(async () => assert.equal((await whole.pod("crash")).status?.phase, "Failed"));
    // Those that are counted by being requested.
    await started.json("/stats/summary");
    await started.request("/metrics");
  });
  after(() => started?.destroy());

  agentNames(node);
  agentPodResources(node);
  agentPages(node);
});
