import { describe, it } from "node:test";
import { systemClock } from "../../src/lib/base/clock.ts";
import { silentLogger } from "../../src/lib/base/logger.ts";
import { createMetrics } from "../../src/lib/base/metrics.ts";
import { createCriClient } from "../../src/lib/clients/cri/client.ts";
import { namedOnContainerd } from "../node/on-containerd.ts";
import { containerdVersions, startTestNode } from "../node/test-node.ts";
import { type ContractRuntime, describeRuntimeContract } from "./cri-contract.ts";

async function containerd(version: "1.6" | "2.x"): Promise<ContractRuntime> {
  const node = await startTestNode({ containerd: version });
  const client = createCriClient({
    runtimeEndpoint: node.endpoint,
    requestTimeoutMs: 60_000,
    logger: silentLogger,
    clock: systemClock,
    metrics: createMetrics(),
  });
  return {
    client,
    busybox: node.images.busybox,
    logDir: node.logDir,
    cgroupParent: node.cgroupRoot,
    podNetwork: true,
    stop: async () => {
      client.close();
      await node.stop();
    },
  };
}

for (const { name, available } of containerdVersions()) {
  const title = namedOnContainerd(`containerd ${name}`, name);
  if (available === true) describeRuntimeContract(title, () => containerd(name));
  else describe(`CRI contract: ${title}`, () => it("holds", { skip: available }, () => {}));
}
