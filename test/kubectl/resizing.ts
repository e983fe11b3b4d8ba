import assert from "node:assert/strict";
import { before, test } from "node:test";
import { waitFor } from "../e2e/wait-for.ts";
import { describeInNamespace, type KubectlSetup } from "./kubectl-suite.ts";
import { pod, run } from "./pods.ts";

const resources = (cpu: string, memory: string) => ({
  requests: { cpu, memory },
  limits: { cpu: "500m", memory: "128Mi" },
});

/** kubectl patch --subresource resize. */
export function resizing(setup: KubectlSetup): void {
  describeInNamespace(setup, "resizing", (kubectl) => {
    before(() => run(kubectl(), pod("web", { container: { resources: resources("10m", "32Mi") } })));
    const patch = (value: object) => [
      ...["patch", "pod", "web", "--subresource", "resize", "-p"],
      JSON.stringify({ spec: { containers: [{ name: "c", ...value }] } }),
    ];
    const shown = (path: string) => kubectl().ok(["get", "pod", "web", "-o", `jsonpath={${path}}`]);

    test("a running pod gets other resources, without a restart", async () => {
      assert.equal(
        await kubectl().ok(patch({ resources: { requests: { cpu: "20m", memory: "64Mi" } } })),
        "pod/web patched\n",
      );
      const status = ".status.containerStatuses[0]";
      await waitFor(async () => {
        assert.equal(await shown(`${status}.resources.requests`), '{"cpu":"20m","memory":"64Mi"}');
        assert.equal(await shown('.status.conditions[?(@.type=="PodResizeInProgress")].status'), "");
      });
      assert.equal(await shown(`${status}.allocatedResources`), '{"cpu":"20m","memory":"64Mi"}');
      assert.equal(await shown(`${status}.restartCount`), "0");
      await waitFor(async () =>
        assert.match(
          await kubectl().ok(["describe", "pod", "web"]),
          /ResizeCompleted +\S+ +kubelet +Pod resize/,
        ),
      );
    });

    test("one that the node cannot have now is shown as deferred", async () => {
      await kubectl().ok(patch({ resources: { requests: { cpu: "400" }, limits: { cpu: "400" } } }));
      const pending = (field: string) => shown(`.status.conditions[?(@.type=="PodResizePending")].${field}`);
      await waitFor(async () => assert.equal(await pending("reason"), "Deferred"));
      assert.match(await pending("message"), /^Node didn't have enough resource: cpu, requested: 400000/);
    });

    const rejected: [what: string, value: object, message: RegExp][] = [
      [
        "another QoS class",
        { resources: { requests: { cpu: "500m", memory: "128Mi" }, limits: { cpu: "500m" } } },
        /Pod QOS Class may not change/,
      ],
      ["a removed limit", { resources: { limits: { memory: null } } }, /resource limits cannot be removed/],
      [
        "another resource",
        { resources: { requests: { "ephemeral-storage": "1Mi" } } },
        /only cpu and memory resources are mutable/,
      ],
    ];
    for (const [what, value, message] of rejected)
      test(`${what} is rejected`, async () => {
        assert.match(await kubectl().fails(patch(value)), message);
      });
  });
}
