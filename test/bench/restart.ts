// A container killed from outside, until it runs again, against CreateContainer and StartContainer alone. Exits with 1 if
// over the limit.
import { parseArgs } from "node:util";
import { ContainerState } from "../../src/lib/gen/runtime/v1/api_pb.js";
import type { ContainerdVersion } from "../node/test-node.ts";
import { BenchNode, until } from "./bench-node.ts";
import type { RecordedPod } from "./recorded-pod.ts";
import { checkLimit, median, ms, percentile, preciseNow } from "./statistics.ts";

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
const killsARound = Math.ceil(Number(values.kills) / rounds);
const containerd = values.containerd as ContainerdVersion;

/** CreateContainer and StartContainer in an existing sandbox, without a kubelet. */
async function floors(bench: BenchNode, recorded: RecordedPod): Promise<number[]> {
  const copies = await bench.copies(recorded, killsARound);
  const sandboxes = [];
  for (const pod of copies) sandboxes.push(await bench.sandbox(pod));
  const times: number[] = [];
  for (const [i, pod] of copies.entries()) {
    const began = preciseNow();
    const id = await bench.container(sandboxes[i]!, pod);
    times.push((await bench.startedAt(id)) - began);
  }
  await bench.discard(copies);
  return times;
}

/** Each pod is killed once: a second restart would have to wait for its back-off. */
async function restarts(bench: BenchNode): Promise<number[]> {
  await bench.startAgent();
  for (let i = 0; i < killsARound; i++) bench.place(`restart-${i}`);
  const containers = await bench.untilRunning(killsARound);
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
  console.log(`${what}: p50 ${ms(median(times))}, p90 ${ms(p90)}, most ${ms(most)} (${times.length})`);
}

const bench = await BenchNode.start(containerd);
try {
  const recorded = await bench.record();
  const floor: number[] = [];
  const ours: number[] = [];
  for (let round = 0; round < rounds; round++) {
    floor.push(...(await floors(bench, recorded)));
    ours.push(...(await restarts(bench)));
  }
  console.log(`containerd ${containerd}`);
  report("  CreateContainer and StartContainer alone", floor);
  report("  killed until it runs again", ours);
  if (containerd === "2.x") {
    if (!checkLimit("restart, p50", median(ours), median(floor), limit)) process.exitCode = 1;
  } else {
    const most = relistMs + limit * median(floor);
    const worst = percentile(ours, 100);
    const ok = worst <= most;
    console.log(`restart, worst: ${ms(worst)}, limit ${ms(most)} (a relist more) ${ok ? "ok" : "OVER"}`);
    if (!ok) process.exitCode = 1;
  }
} finally {
  await bench.destroy();
}
