import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { podsOf } from "../e2e/agent-pods.ts";
import { AgentProcess } from "../e2e/agent-process.ts";
import { manifest, writeManifest } from "../e2e/manifests.ts";
import { long } from "../long.ts";
import { unavailable } from "../node/isolated-report.ts";
import { startTestNode, type TestNode } from "../node/test-node.ts";

/**
 * As after a downgrade, or written manually. The reference decodes such a file again without strict rules, uses the last of two values,
 * and starts (configfiles.go and DecodeKubeletConfiguration); only a drop-in with a duplicate field stops it.
 */
const oddFields = { fieldOfALaterRelease: { nested: [1] }, podPidLimit: 3 };

describe(long("a node whose configuration has unknown and duplicate fields"), { skip: unavailable }, () => {
  let node: TestNode;
  let agent: AgentProcess;
  before(async () => {
    node = await startTestNode({ containerd: "2.x" });
    agent = await AgentProcess.create(node, oddFields);
    const written = readFileSync(agent.configFile, "utf8");
    // No pod would run if the first value were used.
    writeFileSync(agent.configFile, written.replace("{", '{"containerRuntimeEndpoint":"unix:///none.sock",'));
    writeManifest(node.manifests, "web.yaml", manifest({ name: "web" }));
  });
  after(() => agent?.destroy());

  test("starts, runs its pods with the last of duplicate values, and names each field once", async () => {
    const dropIns = join(node.rootDir, "../kubelet.conf.d");
    mkdirSync(dropIns);
    const header = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n";
    writeFileSync(join(dropIns, "10.conf"), `${header}anotherUnknownField: 1\n`);
    agent.start([`--config-dir=${dropIns}`]);
    await podsOf(agent).running("web");
    const warnings = agent.log().match(/[\w.]+: is (?:not a known field|specified more than once)/g) ?? [];
    assert.deepEqual(warnings.sort(), [
      "anotherUnknownField: is not a known field",
      "containerRuntimeEndpoint: is specified more than once",
      "fieldOfALaterRelease: is not a known field",
      "podPidLimit: is not a known field",
    ]);
  });
});
