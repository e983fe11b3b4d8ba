// The cost of an idle agent, with a cluster and a few pods on a runtime in memory: resident memory and CPU. Before that,
// the cost of starting many pods. No limits: several builds are measured alternately and compared.
import { resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { launcherFile } from "../e2e/built.ts";
import { ClusterAgent } from "./cluster-agent.ts";
import type { OptionTable, OptionValues } from "./options.ts";
import { median } from "./statistics.ts";

export const summary = "an idle agent on a runtime in memory: memory and CPU (no root)";
export const options = {
  kubelet: { kind: "paths", help: "a build to measure, bin/kubelet unless set; may be repeated" },
  pods: { kind: "count", default: 5, help: "pods that run while the agent is idle" },
  burst: {
    kind: "count",
    default: 30,
    help: "pods that are created at the same time and deleted before that",
  },
  seconds: { kind: "count", default: 60, help: "length of the idle window" },
  rounds: { kind: "count", default: 3, help: "how many times each build is measured, alternating" },
} as const satisfies OptionTable;

interface Results {
  readonly readyMs: number;
  readonly burstMs: number;
  readonly burstCpuMs: number;
  readonly idleCpuMsPerMinute: number;
  readonly residentMiB: number;
}

async function measure(kubelet: string, o: OptionValues<typeof options>): Promise<Results> {
  const startedAt = performance.now();
  const agent = await ClusterAgent.start(kubelet);
  try {
    const ready = performance.now();
    const cpu = agent.cpuMs();
    await agent.run("burst", o.burst);
    const burstMs = performance.now() - ready;
    const burstCpuMs = agent.cpuMs() - cpu;
    await agent.remove("burst", o.burst);
    await agent.run("idle", o.pods);
    await pause(10_000);
    const before = agent.cpuMs();
    await pause(o.seconds * 1000);
    const idleCpuMsPerMinute = ((agent.cpuMs() - before) * 60) / o.seconds;
    const residentMiB = agent.residentMiB();
    return { readyMs: ready - startedAt, burstMs, burstCpuMs, idleCpuMsPerMinute, residentMiB };
  } finally {
    await agent.stop();
  }
}

function format(result: Results): string {
  return Object.entries(result)
    .map(([key, value]) => `${key} ${value.toFixed(key.endsWith("MiB") ? 1 : 0)}`)
    .join(", ");
}

export async function run(o: OptionValues<typeof options>): Promise<boolean> {
  const kubelets = o.kubelet.length > 0 ? o.kubelet : [launcherFile];
  const results = new Map<string, Results[]>();
  for (let round = 0; round < o.rounds; round++)
    for (const kubelet of kubelets) {
      const result = await measure(resolve(kubelet), o);
      results.set(kubelet, [...(results.get(kubelet) ?? []), result]);
      console.log(kubelet, format(result));
    }
  for (const [kubelet, all] of results) {
    const keys = Object.keys(all[0]!) as (keyof Results)[];
    const medians = Object.fromEntries(keys.map((key) => [key, median(all.map((result) => result[key]))]));
    console.log("median", kubelet, format(medians as unknown as Results));
  }
  return true;
}
