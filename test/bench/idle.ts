// The cost of an idle agent, with a cluster and a few pods on a runtime in memory: resident memory and CPU. Before that,
// the cost of starting many pods. No limits: several builds are measured alternately and compared.
// npm run bench -- idle --kubelet bin/kubelet --kubelet ../other/bin/kubelet
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { ClusterAgent } from "./cluster-agent.ts";
import { median } from "./statistics.ts";

const { values } = parseArgs({
  options: {
    kubelet: { type: "string", multiple: true, default: [join(import.meta.dirname, "../../bin/kubelet")] },
    /** Pods that run while it is idle. */
    pods: { type: "string", default: "5" },
    /** Pods that are created together and deleted before that; 0: none. */
    burst: { type: "string", default: "30" },
    seconds: { type: "string", default: "60" },
    rounds: { type: "string", default: "3" },
  },
});
const [pods, burst, seconds, rounds] = [values.pods, values.burst, values.seconds, values.rounds].map(
  Number,
) as [number, number, number, number];

interface Figures {
  readonly readyMs: number;
  readonly burstMs: number;
  readonly burstCpuMs: number;
  readonly idleCpuMsPerMinute: number;
  readonly residentMiB: number;
}

async function measure(kubelet: string): Promise<Figures> {
  const began = performance.now();
  const agent = await ClusterAgent.start(kubelet);
  try {
    const ready = performance.now();
    const cpu = await agent.cpuMs();
    await agent.run("burst", burst);
    const burstMs = performance.now() - ready;
    const burstCpuMs = (await agent.cpuMs()) - cpu;
    await agent.remove("burst", burst);
    await agent.run("idle", pods);
    await sleep(10);
    const before = await agent.cpuMs();
    await sleep(seconds);
    const idleCpuMsPerMinute = (((await agent.cpuMs()) - before) * 60) / seconds;
    const residentMiB = await agent.residentMiB();
    return { readyMs: ready - began, burstMs, burstCpuMs, idleCpuMsPerMinute, residentMiB };
  } finally {
    await agent.stop();
  }
}

const sleep = (seconds: number) => new Promise((done) => setTimeout(done, seconds * 1000));

function show(figures: Figures): string {
  return Object.entries(figures)
    .map(([key, value]) => `${key} ${value.toFixed(key.endsWith("MiB") ? 1 : 0)}`)
    .join(", ");
}

const results = new Map<string, Figures[]>();
for (let round = 0; round < rounds; round++)
  for (const kubelet of values.kubelet) {
    const figures = await measure(resolve(kubelet));
    results.set(kubelet, [...(results.get(kubelet) ?? []), figures]);
    console.log(kubelet, show(figures));
  }
for (const [kubelet, all] of results) {
  const keys = Object.keys(all[0]!) as (keyof Figures)[];
  const middle = Object.fromEntries(keys.map((key) => [key, median(all.map((figures) => figures[key]))]));
  console.log("median", kubelet, show(middle as unknown as Figures));
}
