import { setTimeout as pause } from "node:timers/promises";
import type { BenchCluster } from "./bench-cluster.ts";
import type { KubeletProgram, RunningKubelet } from "./bench-kubelet.ts";
import type { Measured } from "./figures.ts";
import { cpuBetween, cpuMs, residentMiB, threadCpuMs } from "./process-stats.ts";
import { restMs, type Sizes } from "./runtime-floor.ts";
import { median, preciseNow } from "./statistics.ts";
import { until } from "./until.ts";

/** After the last pod is Ready a kubelet still sends events. */
const settleMs = 2000;
const maxSettleMs = 10_000;

/** All figures of one kubelet, from its start on an empty node to its stop. */
export async function measureKubelet(
  cluster: BenchCluster,
  program: KubeletProgram,
  sizes: Sizes,
): Promise<Measured> {
  const started = await start(cluster, program);
  let { kubelet } = started;
  try {
    const idle = await window(kubelet, sizes.windowSeconds);
    const one = await onePod(cluster, sizes.samples);
    const names = Array.from({ length: sizes.pods }, (_, i) => `burst-${i}`);
    const burst = await burstOf(cluster, kubelet, names);
    const steady = await window(kubelet, sizes.windowSeconds);
    const killedToRunning = await killedContainers(cluster, Math.min(sizes.samples, sizes.pods));
    await kubelet.stop();
    await cluster.createPod("restarted");
    kubelet = cluster.startKubelet(program);
    const [readyAt] = await cluster.watch.ready(["restarted"]);
    const restartToPod = (readyAt! - kubelet.startedAt) / 1000;
    await remove(cluster, ["restarted"]);
    const deleteAll = await remove(cluster, names);
    await cluster.waitUntilEmpty();
    return {
      ...started.figures,
      ...one,
      ...burst,
      killedToRunning,
      restartToPod,
      deleteAll,
      idleCpu: idle.cpuPercent,
      idleMemory: idle.memory,
      steadyCpu: steady.cpuPercent,
      podsMemory: steady.memory,
    };
  } finally {
    await kubelet.stop();
  }
}

/** Starts a kubelet whose node is not registered. */
export async function start(
  cluster: BenchCluster,
  program: KubeletProgram,
): Promise<{ kubelet: RunningKubelet; figures: Measured }> {
  await cluster.api.deleteNode();
  await cluster.watch.nodeGone();
  const kubelet = cluster.startKubelet(program);
  const readyAt = await cluster.watch.nodeReady();
  const startCpu = cpuMs(kubelet.pid) / 1000;
  return { kubelet, figures: { startToReady: (readyAt - kubelet.startedAt) / 1000, startCpu } };
}

/** Creates and deletes pods one at a time. */
async function onePod(cluster: BenchCluster, samples: number): Promise<Measured> {
  const created: number[] = [];
  const deleted: number[] = [];
  for (let i = 0; i < samples; i++) {
    const name = `one-${i}`;
    const createdAt = preciseNow();
    await cluster.createPod(name);
    const [readyAt] = await cluster.watch.ready([name]);
    created.push((readyAt! - createdAt) / 1000);
    await pause(restMs);
    deleted.push(await remove(cluster, [name]));
    await pause(restMs);
  }
  return { onePod: median(created), deleteOne: median(deleted) };
}

async function burstOf(
  cluster: BenchCluster,
  kubelet: RunningKubelet,
  names: readonly string[],
): Promise<Measured> {
  const { pid } = cluster.api;
  const apiCpu = () => (pid === undefined ? undefined : cpuMs(pid) / 1000);
  const requestsBefore = await kubelet.requests();
  const [before, apiBefore] = [cpuMs(kubelet.pid), apiCpu()];
  const createdAt = preciseNow();
  await Promise.all(names.map((name) => cluster.createPod(name)));
  const times = (await cluster.watch.ready(names)).map((readyAt) => (readyAt - createdAt) / 1000);
  await pause(settleMs);
  const [after, apiAfter] = [cpuMs(kubelet.pid), apiCpu()];
  return {
    burstMedian: median(times),
    burstLast: Math.max(...times),
    burstCpu: (after - before) / 1000,
    burstRequests: (await kubelet.requests()) - requestsBefore,
    ...(apiBefore !== undefined && apiAfter !== undefined && { burstApiCpu: apiAfter - apiBefore }),
  };
}

/** Deletes pods at the same time; the seconds until the API server has none of them. */
export async function remove(cluster: BenchCluster, names: readonly string[]): Promise<number> {
  const deletedAt = preciseNow();
  await Promise.all(names.map((name) => cluster.api.deletePod(name)));
  return (Math.max(...(await cluster.watch.gone(names))) - deletedAt) / 1000;
}

/** Kills containers of different pods, each once: a second restart would wait for its back-off. */
async function killedContainers(cluster: BenchCluster, count: number): Promise<number> {
  const pids = await cluster.processes();
  const times: number[] = [];
  for (const { id, podSandboxId } of (await cluster.running()).slice(0, count)) {
    const killedAt = preciseNow();
    process.kill(pids.get(id)!, "SIGKILL");
    let next: string | undefined;
    // The start time is the runtime's: how often it is polled does not matter.
    await until("the container runs again", async () => {
      next = (await cluster.running(podSandboxId)).find((container) => container.id !== id)?.id;
      return next !== undefined;
    });
    times.push(((await cluster.startedAt(next!)) - killedAt) / 1000);
  }
  return median(times);
}

/** CPU and memory after the work that follows a start or a burst, such as garbage collection, is done. */
async function window(
  kubelet: RunningKubelet,
  seconds: number,
): Promise<{ cpuPercent: number; memory: number }> {
  await pause(Math.min(maxSettleMs, seconds * 1000));
  const [from, before] = [preciseNow(), threadCpuMs(kubelet.pid)];
  await pause(seconds * 1000);
  const used = cpuBetween(before, threadCpuMs(kubelet.pid));
  return { cpuPercent: (used / (preciseNow() - from)) * 100, memory: residentMiB(kubelet.pid) };
}
