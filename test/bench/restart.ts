// The time from the kill of a container until it runs again, compared with CreateContainer and StartContainer alone. Exits
// with 1 if over the limit.
import { parseArgs } from "node:util";
import { ContainerState } from "../../src/lib/gen/runtime/v1/api_pb.js";
import type { ContainerdVersion } from "../node/test-node.ts";
import { BenchNode, until } from "./bench-node.ts";
import type { RecordedPod } from "./recorded-pod.ts";
import { checkRatio, median, ms, percentile, preciseNow } from "./statistics.ts";

const limit = 4;
/** Without events a restart waits for the next relist. */
const relistMs = 1000;

const { values } = parseArgs({
  options: {
    kills: { type: "string", default: "20" },
    rounds: { type: "string", default: "2" },
    containerd: { type: "string", default: "2.x" },
  },
});
const rounds = Number(values.rounds);
const killsPerRound = Math.ceil(Number(values.kills) / rounds);
const containerd = values.containerd as ContainerdVersion;

/** CreateContainer and StartContainer in an existing sandbox, without a kubelet. */
async function baselines(bench: BenchNode, recorded: RecordedPod): Promise<number[]> {
  const copies = await bench.copies(recorded, killsPerRound);
  const sandboxes = [];
  for (const pod of copies) sandboxes.push(await bench.sandbox(pod));
  const times: number[] = [];
  for (const [i, pod] of copies.entries()) {
    const startedAt = preciseNow();
    const id = await bench.container(sandboxes[i]!, pod);
    times.push((await bench.startedAt(id)) - startedAt);
  }
  await bench.discard(copies);
  return times;
}

/** Each pod is killed once: a second restart would have to wait for its back-off. */
async function restarts(bench: BenchNode): Promise<number[]> {
  await bench.startAgent();
  for (let i = 0; i < killsPerRound; i++) bench.addPod(`restart-${i}`);
  const containers = await bench.untilRunning(killsPerRound);
  const pids = await processes(bench);
  const times: number[] = [];
  for (const { id, podSandboxId } of containers) {
    const killed = preciseNow();
    process.kill(pids.get(id)!, "SIGKILL");
    let again: string | undefined;
    const filter = { podSandboxId, state: { state: ContainerState.CONTAINER_RUNNING } };
    await until("the container runs again", async () => {
      again = (await bench.cri.listContainers(filter)).find((c) => c.id !== id)?.id;
      return again !== undefined;
    });
    times.push((await bench.startedAt(again!)) - killed);
  }
  await bench.removeAll();
  await bench.stopAgent();
  return times;
}

/** The first process of each container. */
async function processes(bench: BenchNode): Promise<Map<string, number>> {
  const table = await bench.node.ctr(["tasks", "ls"]);
  const rows = table.split("\n").map((line) => line.trim().split(/\s+/));
  return new Map(rows.flatMap(([id, pid]) => (id && Number(pid) > 0 ? [[id, Number(pid)] as const] : [])));
}

function report(what: string, times: readonly number[]): void {
  const [p90, most] = [percentile(times, 90), percentile(times, 100)];
  console.log(`${what}: p50 ${ms(median(times))}, p90 ${ms(p90)}, max ${ms(most)} (${times.length})`);
}

const bench = await BenchNode.start(containerd);
try {
  const recorded = await bench.record();
  const baseline: number[] = [];
  const ours: number[] = [];
  for (let round = 0; round < rounds; round++) {
    baseline.push(...(await baselines(bench, recorded)));
    ours.push(...(await restarts(bench)));
  }
  console.log(`containerd ${containerd}`);
  report("  CreateContainer and StartContainer alone", baseline);
  report("  from the kill until it runs again", ours);
  if (containerd === "2.x") {
    if (!checkRatio("restart, p50", median(ours), median(baseline), limit)) process.exitCode = 1;
  } else {
    const most = relistMs + limit * median(baseline);
    const worst = percentile(ours, 100);
    const ok = worst <= most;
    console.log(`restart, worst: ${ms(worst)}, limit ${ms(most)} (one relist more) ${ok ? "ok" : "OVER"}`);
    if (!ok) process.exitCode = 1;
  }
} finally {
  await bench.destroy();
}
