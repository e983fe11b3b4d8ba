import assert from "node:assert/strict";
import { it } from "node:test";
import { knownMetrics } from "./known-names.ts";
import type { MeteredNode } from "./metered-node.ts";
import { hasPromtool, promtool } from "./promtool.ts";

const endpoints = [
  ...["/metrics", "/metrics/cadvisor", "/metrics/resource", "/metrics/probes", "/metrics/slis"],
];

/** Names of the reference kubelet that the recording does not have: nothing had called that socket. */
const notRecorded = /^kubelet_pod_resources_endpoint_(requests|errors)_\w+$/;

/** promtool exits with 3 if it rejects a name or a help text, and with 1 if it cannot read the text. */
const onlyLint = 3;

/** Prometheus' own tool checks the metrics of a running agent. */
export function agentPromtool(node: () => MeteredNode): void {
  for (const endpoint of endpoints)
    it(`${endpoint} passes promtool check metrics, apart from names that are the reference kubelet's`, {
      skip: hasPromtool !== true && hasPromtool,
    }, async () => {
      const { body } = await node().request(endpoint);
      const { status, output } = promtool(["check", "metrics"], body);
      if (status === 0) return;
      assert.equal(status, onlyLint, output);
      const names = new Set([...knownMetrics().values()].flat().map(({ name }) => name));
      const findings = output.split("\n").filter((line) => line !== "");
      const ours = findings.filter((line) => {
        const name = line.split(" ")[0] ?? "";
        return !names.has(name) && !notRecorded.test(name);
      });
      assert.deepEqual(ours, []);
    });
}
