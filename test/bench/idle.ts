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
    /** Pods that run while the agent is idle. */
    pods: { type: "string", default: "5" },
    /** Pods that are created at the same time and deleted before that; 0 for none. */
    burst: { type: "string", default: "30" },
    seconds: { type: "string", default: "60" },
    rounds: { type: "string", default: "3" },
  },
});
const [pods, burst, seconds, rounds] = [values.pods, values.burst, values.seconds, values.rounds].map(
  Number,
) as [number, number, number, number];

interface Results {
  readonly readyMs: number;
  readonly burstMs: number;
  readonly burstCpuMs: number;
  readonly idleCpuMsPerMinute: number;
  readonly residentMiB: number;
}

async function measure(kubelet: string): Promise<Results> {
  const startedAt = performance.now();
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
    return { readyMs: ready - startedAt, burstMs, burstCpuMs, idleCpuMsPerMinute, residentMiB };
  } finally {
    await agent.stop();
  }
}

const sleep = (seconds: number) => new Promise((done) => setTimeout(done, seconds * 1000));

function format(result: Results): string {
  return Object.entries(result)
    .map(([key, value]) => `${key} ${value.toFixed(key.endsWith("MiB") ? 1 : 0)}`)
    .join(", ");
}

const results = new Map<string, Results[]>();
for (let round = 0; round < rounds; round++)
  for (const kubelet of values.kubelet) {
    const result = await measure(resolve(kubelet));
    results.set(kubelet, [...(results.get(kubelet) ?? []), result]);
    console.log(kubelet, format(result));
  }
for (const [kubelet, all] of results) {
  const keys = Object.keys(all[0]!) as (keyof Results)[];
  const medians = Object.fromEntries(keys.map((key) => [key, median(all.map((result) => result[key]))]));
  console.log("median", kubelet, format(medians as unknown as Results));
}
