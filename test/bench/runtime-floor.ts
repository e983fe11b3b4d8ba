import { setTimeout as pause } from "node:timers/promises";
import type { ContainerId, SandboxId } from "../../src/lib/clients/cri/cri.ts";
import { ContainerEventType } from "../../src/lib/gen/runtime/v1/api_pb.js";
import type { BenchCluster } from "./bench-cluster.ts";
import type { Measured } from "./figures.ts";
import { type CopiedPod, copyPod, type RecordedPod } from "./recorded-pod.ts";
import { median, preciseNow } from "./statistics.ts";

/**
 * After a single pod has started and after it was removed, in both columns: a kubelet completes its events and the runtime its removal,
 * and a machine that was idle for a moment takes longer for the next pod.
 */
export const restMs = 500;
const inFlight = 8;
const graceSeconds = 1;

export interface Sizes {
  /** Pods of the burst. */
  readonly pods: number;
  /** Repetitions of figures of one pod. */
  readonly samples: number;
  /** The length of the windows of idle and steady CPU. */
  readonly windowSeconds: number;
}

interface RunningPod {
  readonly pod: CopiedPod;
  readonly sandbox: SandboxId;
  container: ContainerId;
}

/** The same pods through the CRI, without a kubelet: no kubelet can be faster with this runtime. */
export async function measureFloor(
  cluster: BenchCluster,
  recorded: RecordedPod,
  { pods, samples }: Sizes,
): Promise<Measured> {
  const copies = Array.from({ length: pods + samples }, (_, i) =>
    copyPod(recorded, crypto.randomUUID(), `floor-${i}`),
  );
  for (const pod of copies) await pod.prepare();
  const onePod: number[] = [];
  const deleteOne: number[] = [];
  for (const pod of copies.splice(0, samples)) {
    const startedAt = preciseNow();
    const one = await run(cluster, pod);
    onePod.push((await cluster.startedAt(one.container)) - startedAt);
    await pause(restMs);
    deleteOne.push(await timed(() => remove(cluster, one)));
    await pause(restMs);
    await pod.cleanUp();
  }
  const startedAt = preciseNow();
  const running = await parallel(copies, (pod) => run(cluster, pod));
  const times = await Promise.all(
    running.map(async ({ container }) => (await cluster.startedAt(container)) - startedAt),
  );
  const killed = await killAndRun(cluster, running.slice(0, samples));
  const deleteAll = await timed(() => parallel(running, (one) => remove(cluster, one)));
  for (const pod of copies) await pod.cleanUp();
  await cluster.waitUntilEmpty();
  const seconds = (ms: number) => ms / 1000;
  return {
    onePod: seconds(median(onePod)),
    burstMedian: seconds(median(times)),
    burstLast: seconds(Math.max(...times)),
    deleteOne: seconds(median(deleteOne)),
    deleteAll: seconds(deleteAll),
    killedToRunning: seconds(median(killed)),
  };
}

async function run({ cri }: BenchCluster, pod: CopiedPod): Promise<RunningPod> {
  const sandbox = await cri.runPodSandbox(pod.sandbox, "");
  const container = await cri.createContainer(sandbox, pod.container, pod.sandbox);
  await cri.startContainer(container);
  return { pod, sandbox, container };
}

async function remove({ cri }: BenchCluster, { sandbox, container }: RunningPod): Promise<void> {
  await cri.stopContainer(container, graceSeconds);
  await cri.stopPodSandbox(sandbox);
  await cri.removeContainer(container);
  await cri.removePodSandbox(sandbox);
}

/** The time from the kill of each container until its successor runs, which is created as soon as the runtime reports the exit. */
async function killAndRun(cluster: BenchCluster, pods: readonly RunningPod[]): Promise<number[]> {
  const { cri } = cluster;
  const pids = await cluster.processes();
  const stop = new AbortController();
  const exited = new Map<string, () => void>();
  const events = (async () => {
    for await (const { containerId, containerEventType } of cri.containerEvents(stop.signal))
      if (containerEventType === ContainerEventType.CONTAINER_STOPPED_EVENT) exited.get(containerId)?.();
  })();
  const times: number[] = [];
  for (const one of pods) {
    const { pod, sandbox, container } = one;
    const { promise, resolve } = Promise.withResolvers<void>();
    exited.set(container, resolve);
    const killedAt = preciseNow();
    process.kill(pids.get(container)!, "SIGKILL");
    await promise;
    one.container = await cri.createContainer(sandbox, pod.restartedContainer, pod.sandbox);
    await cri.startContainer(one.container);
    times.push((await cluster.startedAt(one.container)) - killedAt);
  }
  stop.abort();
  await events.catch(() => {});
  return times;
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = preciseNow();
  await work();
  return preciseNow() - startedAt;
}

/** Runs `work` for all, `inFlight` at a time. */
async function parallel<T, R>(all: readonly T[], work: (one: T) => Promise<R>): Promise<R[]> {
  const queue = [...all];
  const results: R[] = [];
  const worker = async () => {
    for (let one = queue.shift(); one; one = queue.shift()) results.push(await work(one));
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
  return results;
}
