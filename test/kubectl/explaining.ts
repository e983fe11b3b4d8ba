import assert from "node:assert/strict";
import { test } from "node:test";
import { explained } from "../cluster/explained.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { type Bench, describeIn } from "./kubectl-suite.ts";
import { list, pod } from "./pods.ts";

/** `kubelet explain` beside kubectl: pods that were applied and are on no node are explained too. */
export function explaining(bench: Bench): void {
  describeIn(bench, "explaining", (at) => {
    test("pods that do not fit the node: the label and the amount, by name and among all", async () => {
      const k = at();
      const input = list(
        pod("choosy", { spec: { nodeSelector: { disk: "ssd" } } }),
        pod("large", { container: { resources: { requests: { cpu: "4k" } } } }),
      );
      await k.ok(["create", "-f", "-"], { input });
      const explain = explained(bench.node.files.kubelet);
      const firstLine = async (name: string) => (await explain.type(name)).split("\n", 1)[0] ?? "";
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
      await assert.rejects(explain.type("nobody"), /this kubelet has no pod nobody/);
    });
  });
}
