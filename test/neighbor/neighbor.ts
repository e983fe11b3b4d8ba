// npm run neighbor [-- [--containerd 1.6|2.x] [--interval MS] [COMMAND ...]]: runs another container engine on this machine.
import { spawn } from "node:child_process";
import { rmdirSync } from "node:fs";
import { constants } from "node:os";
import { parseArgs } from "node:util";
import { sleep, systemClock } from "../../src/lib/base/clock.ts";
import { messageOf } from "../../src/lib/base/errors.ts";
import { silentLogger } from "../../src/lib/base/logger.ts";
import { createMetrics } from "../../src/lib/base/metrics.ts";
import { createCriClient } from "../../src/lib/clients/cri/client.ts";
import { startLocalNode } from "../../src/single-node/local-node.ts";
import { describeMissing, findRequirements } from "../../src/single-node/requirements.ts";
import { containerd2Dir } from "../node/test-node.ts";
import { NeighborPods } from "./neighbor-pods.ts";

const [baseDir, runDir] = ["/var/lib/neighbor", "/run/neighbor"];
const options = {
  containerd: { type: "string", default: "1.6" },
  interval: { type: "string", default: "500" },
} as const;
// All arguments from the first unknown option on belong to the command.
const args = process.argv.slice(2);
const { tokens } = parseArgs({ args, options, allowPositionals: true, strict: false, tokens: true });
const commandIndex = tokens.find(({ kind }) => kind === "positional")?.index ?? args.length;
const { values } = parseArgs({ args: args.slice(0, commandIndex), options });
if (process.getuid?.() !== 0) throw new Error("npm run neighbor needs root");
const found = findRequirements(values.containerd === "2.x" ? { containerdDir: containerd2Dir } : {});
if (!found.ok) throw new Error(`missing: ${describeMissing(found.missing).join(", ")}`);

const stop = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => stop.abort());
const node = await startLocalNode({
  name: "neighbor",
  baseDir,
  runDir,
  binaries: found.binaries,
  logger: silentLogger,
  signal: stop.signal,
}).catch((error) => {
  console.error(`neighbor: ${messageOf(error)}`);
  process.exit(1);
});
const cri = createCriClient({
  runtimeEndpoint: node.endpoint,
  requestTimeoutMs: 60_000,
  logger: silentLogger,
  clock: systemClock,
  metrics: createMetrics(),
});
const pods = new NeighborPods(cri, node);
console.log(`neighbor: containerd ${values.containerd} at ${node.endpoint}, pods in ${node.podSubnet}`);

const [program, ...programArgs] = args.slice(commandIndex);
const command = program ? run(program, programArgs).finally(() => stop.abort()) : undefined;
while (!stop.signal.aborted) {
  await pods.createNext();
  await sleep(systemClock, Number(values.interval), stop.signal).catch(() => {});
}
const status = (await command) ?? 0;
await pods.removeAll();
cri.close();
const { remaining: left } = await node.stop({ keep: "nothing" });
for (const dir of [baseDir, runDir]) removeIfEmpty(dir);
console.log(`neighbor: ${pods.created} pods created, ${pods.removed} removed, ${pods.errors.length} errors`);
for (const problem of [...pods.errors.slice(0, 10), ...left.map((what) => `left behind: ${what}`)])
  console.log(`neighbor: ${problem}`);
process.exitCode = status || (pods.errors.length + left.length > 0 ? 1 : 0);

/** Runs the command alongside the other engine; resolves with its exit status. */
function run(file: string, commandArgs: readonly string[]): Promise<number> {
  const child = spawn(file, commandArgs, { stdio: "inherit" });
  stop.signal.addEventListener("abort", () => child.kill("SIGTERM"));
  return new Promise((resolve) => {
    child.once("error", (error) => {
      console.log(`neighbor: ${messageOf(error)}`);
      resolve(127);
    });
    child.once("close", (code, signal) => resolve(code ?? 128 + constants.signals[signal!]));
  });
}

function removeIfEmpty(dir: string): void {
  try {
    rmdirSync(dir);
  } catch {
    // It does not exist, or it is not empty, which has already been reported.
  }
}
