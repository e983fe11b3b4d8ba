import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { AgentProcess } from "../e2e/agent-process.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { long } from "../long.ts";
import { MeteredNode } from "../metrics/metered-node.ts";
import { unavailable } from "../node/isolated-report.ts";
import { busyboxName, startTestNode } from "../node/test-node.ts";

/** All gates of the reference with their stages and defaults. */
const reference = readFileSync(new URL("../fixtures/config/feature-gates.tsv", import.meta.url), "utf8")
  .trim()
  .split("\n")
  .slice(1)
  .map((line) => {
    const [name = "", stage = "", value] = line.split("\t");
    return { name, stage, value: value === "true" ? 1 : 0 };
  });

const nodes: [rule: string, gates: Record<string, boolean>, stage: string, value: number][] = [
  ["all alpha gates on", { AllAlpha: true }, "ALPHA", 1],
  ["all beta gates off", { AllBeta: false }, "BETA", 0],
];
for (const [rule, featureGates, flipped, value] of nodes)
  describe(long(`a node with ${rule}`), { skip: unavailable }, () => {
    let node: MeteredNode;
    before(async () => {
      node = await MeteredNode.start("2.x", () => ({ config: { featureGates } }));
    });
    after(() => node?.destroy());

    test("runs pods, restarts their containers and removes them", async () => {
      const { apiNode } = node;
      const resources = { requests: { cpu: "10m", memory: "16Mi" }, limits: { memory: "64Mi" } };
      await apiNode.addPod("web", { resources, readinessProbe: { exec: { command: ["true"] } } });
      await apiNode.addPod("job", { command: ["false"] });
      await apiNode.runs("web");
      await waitFor(async () => {
        const { status } = await apiNode.pod("job");
        assert.ok((status?.containerStatuses?.[0]?.restartCount ?? 0) > 0, JSON.stringify(status));
      });
      for (const name of ["web", "job"]) {
        await apiNode.deletePod(name);
        await apiNode.isGone(name);
      }
    });

    test("reports the image of an image volume only with ImageVolumeWithDigest", async () => {
      const { apiNode } = node;
      const image = { reference: busyboxName, pullPolicy: "Never" };
      const volumeMounts = [{ name: "v", mountPath: "/v" }];
      await apiNode.addPod("volume", { volumeMounts }, { volumes: [{ name: "v", image }] } as never);
      const { status } = await apiNode.runs("volume");
      const [mount] = (status?.containerStatuses?.[0]?.volumeMounts ?? []) as {
        volumeStatus?: { image?: { imageRef?: string } };
      }[];
      const { imageRef } = mount?.volumeStatus?.image ?? {};
      if (flipped === "ALPHA") assert.match(imageRef ?? "", /^sha256:[0-9a-f]{64}$/);
      else assert.equal(imageRef, undefined);
      await apiNode.deletePod("volume");
      await apiNode.isGone("volume");
    });

    // parity: metric /metrics kubernetes_feature_enabled
    test("reports the values of all gates that the reference reports", async () => {
      const families = await node.metrics("/metrics");
      const enabled = new Map(
        families
          .get("kubernetes_feature_enabled")!
          .samples.map(({ labels, value: is }) => [`${labels.name} ${labels.stage}`, is]),
      );
      for (const gate of reference) {
        if (gate.name === "AllAlpha" || gate.name === "AllBeta") continue;
        const want = gate.stage === flipped ? value : gate.value;
        assert.equal(enabled.get(`${gate.name} ${gate.stage}`), want, gate.name);
      }
    });
  });

describe(long("a node with all alpha gates on and all beta gates off"), { skip: unavailable }, () => {
  let agent: AgentProcess;
  before(async () => {
    const node = await startTestNode({ containerd: "2.x" });
    agent = await AgentProcess.create(node, { featureGates: { AllAlpha: true, AllBeta: false } });
  });
  after(() => agent?.destroy());

  test("does not start, and names the gates that are on without those that they need", async () => {
    // The reference validates the dependencies of its gates (defaultKubernetesFeatureGateDependencies in pkg/features).
    agent.start();
    assert.equal(await agent.exited(), 1);
    for (const [gate, needed] of [
      ["PodLevelResourceManagers", "PodLevelResources"],
      ["UserNamespacesHostNetworkSupport", "NodeDeclaredFeatures"],
    ])
      assert.match(agent.log(), new RegExp(`${gate}: is on but needs ${needed}`));
  });
});
