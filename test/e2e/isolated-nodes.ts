// Runs on an isolated host. Reports the output of `kubelet pods` with no node, one node, two nodes, and after one of them was killed and
// started again with its applied pod.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { nodeFiles } from "../../src/single-node/node-files.ts";
import { type Leak, leaks, snapshot } from "../node/leaks.ts";
import { CliProcess, type CliResult, cli } from "./cli-process.ts";
import { waitFor } from "./wait-for.ts";

export interface NodesReport {
  none: CliResult;
  one: CliResult;
  sameName: CliResult;
  several: CliResult;
  chosen: CliResult;
  applied: CliResult;
  afterKill: CliResult;
  /** The pods of the node that was killed and started again. */
  afterAll: CliResult;
  exited: CliResult["status"];
  left: Leak[];
  /** The output of the first node, to debug a failed test. */
  output: string;
}

async function up(...args: string[]): Promise<CliProcess> {
  const node = new CliProcess(["up", ...args], { withinMs: 120_000 });
  await waitFor(() => {
    if (!/Running, 1\/1 ready/.test(node.stdout))
      throw new Error(`no pod is running: ${node.stdout}${node.stderr}`);
  });
  return node;
}

const before = snapshot();
const none = await cli(["pods"]);
const first = await up();
const one = await cli(["pods"]);
const sameName = await cli(["up"]);
const second = await up("--name", "other", "--no-api");
const several = await cli(["pods"]);
const chosen = await cli(["pods", "--node=other"]);
const greeting = {
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "greeting" },
  data: { text: "hello" },
};
writeFileSync(join(nodeFiles("other").objects, "greeting.json"), JSON.stringify(greeting));
const spec = {
  hostNetwork: true,
  containers: [
    {
      name: "c",
      image: "localhost/kubelet-ts/demo:1",
      imagePullPolicy: "Never",
      command: ["sh", "-c", "trap 'exit 0' TERM; grep -q hello /greeting/text || exit 1; sleep 1000 & wait"],
      volumeMounts: [{ name: "greeting", mountPath: "/greeting" }],
    },
  ],
  volumes: [{ name: "greeting", configMap: { name: "greeting" } }],
};
const applied = await cli(["apply", "-f", "-", "--node=other"], {
  input: JSON.stringify({ apiVersion: "v1", kind: "Pod", metadata: { name: "kept" }, spec }),
});
second.child.kill("SIGKILL");
await second.exited();
const afterKill = await cli(["pods"]);
// A node that is started again cleans up after the killed one.
const again = await up("--name=other", "--no-api");
const afterAll = await waitFor(async () => {
  const pods = await cli(["pods", "--node=other"]);
  if (!/ kept-\S+ +Running +1\/1 /.test(pods.stdout))
    throw new Error(`the applied pod is not running: ${pods.stdout}`);
  return pods;
}).catch((error: Error) => ({ status: null, stdout: error.message, stderr: "", pid: 0 }));
again.child.kill("SIGINT");
await again.exited();
first.child.kill("SIGTERM");
const { status: exited } = await first.exited();
const left = leaks(before, snapshot());
const report: NodesReport = {
  none,
  one,
  sameName,
  several,
  chosen,
  applied,
  afterKill,
  afterAll,
  exited,
  left,
  output: first.stdout + first.stderr,
};
process.stdout.write(JSON.stringify(report));
