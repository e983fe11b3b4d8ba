// Many static pods concurrently, against the same calls of the runtime with no kubelet. Exits with 1 if over the limit.
import { parseArgs } from "node:util";
import { BenchNode } from "./bench-node.ts";
import type { RecordedPod } from "./recorded-pod.ts";
import { checkLimit, median, ms, preciseNow } from "./statistics.ts";

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

/** When each container ran, relative to the start, in order. */
type Burst = number[];

async function floorBurst(bench: BenchNode, recorded: RecordedPod): Promise<Burst> {
  const copies = await bench.copies(recorded, pods);
  const queue = [...copies];
  const began = preciseNow();
  const worker = async () => {
    for (let pod = queue.shift(); pod; pod = queue.shift())
      await bench.container(await bench.sandbox(pod), pod);
  };
  await Promise.all([...Array.from({ length: inFlight }, worker), bench.untilRunning(pods)]);
  const times = await startTimes(bench, began);
  await bench.discard(copies);
  return times;
}

async function kubeletBurst(bench: BenchNode): Promise<Burst> {
  await bench.startAgent();
  const began = preciseNow();
  for (let i = 0; i < pods; i++) bench.place(`burst-${i}`);
  await bench.untilRunning(pods);
  const times = await startTimes(bench, began);
  await bench.removeAll();
  await bench.stopAgent();
  return times;
}

/** The runtime's own timestamp for both, so that detection delay does not count. */
async function startTimes(bench: BenchNode, began: number): Promise<Burst> {
  const times: number[] = [];
  for (const { id } of await bench.running()) times.push((await bench.startedAt(id)) - began);
  return times.sort((a, b) => a - b);
}

function report(what: string, times: Burst): void {
  console.log(`${what}: first ${ms(times[0]!)}, median ${ms(median(times))}, last ${ms(times.at(-1)!)}`);
}

const bench = await BenchNode.start("2.x");
try {
  const recorded = await bench.record();
  const floors: Burst[] = [];
  const ours: Burst[] = [];
  const measures = [
    async () => {
      floors.push(await floorBurst(bench, recorded));
      report(`  floor, ${inFlight} in flight`, floors.at(-1)!);
    },
    async () => {
      ours.push(await kubeletBurst(bench));
      report("  kubelet", ours.at(-1)!);
    },
  ];
  for (let round = 1; round <= rounds; round++) {
    console.log(`round ${round} of ${rounds}, ${pods} pods`);
    // Each goes first equally often: effects of the first on the second are balanced.
    for (const measure of round % 2 ? measures : measures.toReversed()) await measure();
  }
  const of = (bursts: Burst[], figure: (times: Burst) => number) => median(bursts.map(figure));
  const last = (times: Burst) => times.at(-1)!;
  const results = [
    checkLimit("last of the burst", of(ours, last), of(floors, last), lastLimit),
    checkLimit("median of the burst", of(ours, median), of(floors, median), medianLimit),
  ];
  if (results.includes(false)) process.exitCode = 1;
} finally {
  await bench.destroy();
}
