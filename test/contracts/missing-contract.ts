import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ContainerId, SandboxId } from "../../src/lib/clients/cri/cri.ts";
import { type Bench, refused, UNKNOWN_ID } from "./bench.ts";

/** What the agent relies on when it requests something that is gone. */
export function missingContract(bench: Bench): void {
  describe("what does not exist", () => {
    const container = UNKNOWN_ID as ContainerId;
    const sandbox = UNKNOWN_ID as SandboxId;
    const missing: [string, () => Promise<unknown>][] = [
      ["ContainerStatus", () => bench.client.containerStatus(container)],
      ["StartContainer", () => bench.client.startContainer(container)],
      ["PodSandboxStatus", () => bench.client.podSandboxStatus(sandbox)],
      ["ReopenContainerLog", () => bench.client.reopenContainerLog(container)],
      ["ExecSync", () => bench.client.execSync(container, ["/bin/true"], 1)],
      [
        "UpdateContainerResources",
        () => bench.client.updateContainerResources(container, { cpuShares: 10n }),
      ],
      ["CreateContainer", () => bench.client.createContainer(sandbox, { metadata: { name: "x" } }, {})],
    ];
    for (const [method, call] of missing) {
      it(`${method} returns NOT_FOUND`, async () => {
        const error = await refused(call());
        assert.equal(error.grpcCode, "NOT_FOUND");
        assert.equal(error.method, method);
      });
    }
    it("can be stopped and removed all the same", async () => {
      await bench.client.stopContainer(container, 1);
      await bench.client.removeContainer(container);
      await bench.client.stopPodSandbox(sandbox);
      await bench.client.removePodSandbox(sandbox);
      await bench.client.removeImage({ image: "localhost/kubelet-ts/no-such-image:1" });
    });
  });
}
