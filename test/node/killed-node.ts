// A process for one test: starts a node with a pod, prints its name, and kills itself and its containerd.
import { writeSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../src/lib/base/clock.ts";
import { silentLogger } from "../../src/lib/base/logger.ts";
import { createMetrics } from "../../src/lib/base/metrics.ts";
import { createCriClient } from "../../src/lib/clients/cri/client.ts";
import { nodeFiles } from "../../src/single-node/node-files.ts";
import { processesOfNode, readProcesses } from "../../src/single-node/processes.ts";
import { type ContainerdVersion, startTestNode } from "./test-node.ts";

const node = await startTestNode({ containerd: process.argv[2] as ContainerdVersion });
const cri = createCriClient({
  runtimeEndpoint: node.endpoint,
  requestTimeoutMs: 30_000,
  logger: silentLogger,
  clock: systemClock,
  metrics: createMetrics(),
});
for (const name of ["a", "b"]) {
  await cri.runPodSandbox(
    {
      metadata: { name, uid: name, namespace: "default", attempt: 0 },
      logDirectory: join(node.logDir, name),
      linux: { cgroupParent: join(node.cgroupRoot, name) },
    },
    "",
  );
}
writeSync(1, `${node.name}\n`);
for (const { pid } of processesOfNode(nodeFiles(node.name), readProcesses(), process.pid).containerd) {
  process.kill(pid, "SIGKILL");
}
process.kill(process.pid, "SIGKILL");
