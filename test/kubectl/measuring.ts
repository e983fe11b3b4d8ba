import assert from "node:assert/strict";
import { test } from "node:test";
import { rows } from "./kubectl.ts";
import { describeInNamespace, type KubectlSetup } from "./kubectl-suite.ts";
import { pod, run } from "./pods.ts";

/** kubectl top. */
export function measuring(setup: KubectlSetup): void {
  describeInNamespace(setup, "measuring", (kubectl) => {
    test("top shows the usage of pods, their containers and the node", async () => {
      const k = kubectl();
      await run(k, pod("measured"));
      assert.match(await k.ok(["top", "pod", "measured"]), /^NAME .*\nmeasured +\d+m +\d+Mi/);
      const [container] = rows(await k.ok(["top", "pod", "measured", "--containers"]));
      assert.deepEqual([container?.POD, container?.NAME], ["measured", "c"]);
      assert.match(await k.ok(["top", "node"]), /^NAME .*\n\S+ +\d+m +\d+% +\d+Mi +\d+%/);
    });
  });
}
