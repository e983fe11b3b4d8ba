import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ContainerId, SandboxId } from "../../src/lib/clients/cri/cri.ts";
import { type ContractPods, errorOf, UNKNOWN_ID } from "./contract-pods.ts";

/** The behavior for missing objects that the agent relies on. */
export function missingContract(pods: ContractPods): void {
  describe("a missing object", () => {
    const container = UNKNOWN_ID as ContainerId;
    const sandbox = UNKNOWN_ID as SandboxId;
    const missing: [string, () => Promise<unknown>][] = [
      ["ContainerStatus", () => pods.client.containerStatus(container)],
      ["StartContainer", () => pods.client.startContainer(container)],
      ["PodSandboxStatus", () => pods.client.podSandboxStatus(sandbox)],
      ["ReopenContainerLog", () => pods.client.reopenContainerLog(container)],
      ["ExecSync", () => pods.client.execSync(container, ["/bin/true"], 1)],
      ["UpdateContainerResources", () => pods.client.updateContainerResources(container, { cpuShares: 10n })],
      ["CreateContainer", () => pods.client.createContainer(sandbox, { metadata: { name: "x" } }, {})],
    ];
    for (const [method, call] of missing) {
      it(`${method} returns NOT_FOUND, or CRI-O's text`, async () => {
        const error = await errorOf(call());
        if (pods.runtime.isCrio) assert.match(error.message, /ID does not exist$/);
        else assert.equal(error.grpcCode, "NOT_FOUND");
        assert.equal(error.method, method);
      });
    }
    it("can be stopped and removed", async () => {
      await pods.client.stopContainer(container, 1);
      await pods.client.removeContainer(container);
      await pods.client.stopPodSandbox(sandbox);
      await pods.client.removePodSandbox(sandbox);
      await pods.client.removeImage({ image: "localhost/kubelet-ts/no-such-image:1" });
    });
  });
}
