// Starts many static pods concurrently, compared with the same runtime calls without a kubelet. Exits with 1 if over the limit.
import { parseArgs } from "node:util";
import { BenchNode } from "./bench-node.ts";
import type { RecordedPod } from "./recorded-pod.ts";
import { checkRatio, median, ms, preciseNow } from "./statistics.ts";

const lastLimit = 1.3;
const medianLimit = 1.4;

const { values } = parseArgs({
  options: {
    pods: { type: "string", default: "60" },
    rounds: { type: "string", default: "3" },
    "in-flight": { type: "string", default: "8" },
  },
});
const pods = Number(values.pods);
const rounds = Number(values.rounds);
const inFlight = Number(values["in-flight"]);

/** The start times of the containers, relative to the start of the burst, in order. */
type Burst = number[];

async function baselineBurst(bench: BenchNode, recorded: RecordedPod): Promise<Burst> {
  const copies = await bench.copies(recorded, pods);
  const queue = [...copies];
  const startedAt = preciseNow();
  const worker = async () => {
    for (let pod = queue.shift(); pod; pod = queue.shift())
      await bench.container(await bench.sandbox(pod), pod);
  };
  await Promise.all([...Array.from({ length: inFlight }, worker), bench.untilRunning(pods)]);
  const times = await startTimes(bench, startedAt);
  await bench.discard(copies);
  return times;
}

async function kubeletBurst(bench: BenchNode): Promise<Burst> {
  await bench.startAgent();
  const startedAt = preciseNow();
  for (let i = 0; i < pods; i++) bench.addPod(`burst-${i}`);
  await bench.untilRunning(pods);
  const times = await startTimes(bench, startedAt);
  await bench.removeAll();
  await bench.stopAgent();
  return times;
}

/** Uses the runtime's timestamps for both, so that the delay of polling does not count. */
async function startTimes(bench: BenchNode, startedAt: number): Promise<Burst> {
  const times: number[] = [];
  for (const { id } of await bench.running()) times.push((await bench.startedAt(id)) - startedAt);
  return times.sort((a, b) => a - b);
}

function report(what: string, times: Burst): void {
  console.log(`${what}: first ${ms(times[0]!)}, median ${ms(median(times))}, last ${ms(times.at(-1)!)}`);
}

const bench = await BenchNode.start("2.x");
try {
  const recorded = await bench.record();
  const baselines: Burst[] = [];
  const ours: Burst[] = [];
  const measures = [
    async () => {
      baselines.push(await baselineBurst(bench, recorded));
      report(`  baseline, ${inFlight} in flight`, baselines.at(-1)!);
    },
    async () => {
      ours.push(await kubeletBurst(bench));
      report("  kubelet", ours.at(-1)!);
    },
  ];
  for (let round = 1; round <= rounds; round++) {
    console.log(`round ${round} of ${rounds}, ${pods} pods`);
    // The order alternates, to balance effects of the first on the second.
    for (const measure of round % 2 ? measures : measures.toReversed()) await measure();
  }
  const of = (bursts: Burst[], figure: (times: Burst) => number) => median(bursts.map(figure));
  const last = (times: Burst) => times.at(-1)!;
  const results = [
    checkRatio("last of the burst", of(ours, last), of(baselines, last), lastLimit),
    checkRatio("median of the burst", of(ours, median), of(baselines, median), medianLimit),
  ];
  if (results.includes(false)) process.exitCode = 1;
} finally {
  await bench.destroy();
}
