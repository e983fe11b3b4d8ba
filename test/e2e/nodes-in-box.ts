// Runs in a box: `kubelet pods` with no node, with one, with two, and after one of them was killed.

import { type Leak, leaks, snapshot } from "../node/leaks.ts";
import { CliProcess, type CliResult, cli } from "./cli-process.ts";
import { holds } from "./holds.ts";

export interface NodesReport {
  none: CliResult;
  one: CliResult;
  sameName: CliResult;
  several: CliResult;
  chosen: CliResult;
  afterKill: CliResult;
  ended: CliResult["status"];
  left: Leak[];
  /** What the first node had to say, for whoever looks for the reason of a failure. */
  said: string;
}

async function up(...args: string[]): Promise<CliProcess> {
  const node = new CliProcess(["up", ...args], { withinMs: 120_000 });
  await holds(() => {
    if (!/Running, 1\/1 ready/.test(node.stdout))
      throw new Error(`no pod runs: ${node.stdout}${node.stderr}`);
  });
  return node;
}

const before = snapshot();
const none = await cli(["pods"]);
const first = await up();
const one = await cli(["pods"]);
const sameName = await cli(["up"]);
const second = await up("--name", "other");
const several = await cli(["pods"]);
const chosen = await cli(["pods", "--node=other"]);
second.child.kill("SIGKILL");
await second.ended();
const afterKill = await cli(["pods"]);
// Started again, it makes up for what the killed one left.
const again = await up("--name=other");
again.child.kill("SIGINT");
await again.ended();
first.child.kill("SIGTERM");
const { status: ended } = await first.ended();
const left = leaks(before, snapshot());
const report: NodesReport = {
  none,
  one,
  sameName,
  several,
  chosen,
  afterKill,
  ended,
  left,
  said: first.stdout + first.stderr,
};
process.stdout.write(JSON.stringify(report));
