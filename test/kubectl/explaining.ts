import assert from "node:assert/strict";
import { test } from "node:test";
import { explained } from "../cluster/explained.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { describeInNamespace, type KubectlSetup } from "./kubectl-suite.ts";
import { list, pod } from "./pods.ts";

/** `kubelet explain` also explains pods that are not assigned to a node. */
export function explaining(setup: KubectlSetup): void {
  describeInNamespace(setup, "explaining", (kubectl) => {
    test("explain names the label or the amount because of which a pod does not fit the node", async () => {
      const k = kubectl();
      const input = list(
        pod("choosy", { spec: { nodeSelector: { disk: "ssd" } } }),
        pod("large", { container: { resources: { requests: { cpu: "4k" } } } }),
      );
      await k.ok(["create", "-f", "-"], { input });
      const explain = explained(setup.node.files.kubelet);
      const firstLine = async (name: string) => (await explain.run(name)).split("\n", 1)[0] ?? "";
      await waitFor(async () => {
        assert.match(
          await firstLine("choosy"),
          /\/choosy {2}Pending: Unschedulable: 0\/1 nodes .*: nodeSelector disk=ssd: the node has no label disk$/,
        );
        assert.match(
          await firstLine("large"),
          /Unschedulable: .*cpu, requested: 4000000, used: 0, capacity: \d+$/,
        );
      });
      const names = (await explain.all()).pods.map(({ name }) => name);
      assert.deepEqual(
        names.filter((name) => name === "choosy" || name === "large"),
        ["choosy", "large"],
      );
      await assert.rejects(explain.run("nobody"), /there is no pod nobody/);
    });
  });
}
