import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { Pleg } from "../../src/kubelet/pipeline/pleg/pleg.ts";
import type { Hooks } from "../../src/kubelet/pipeline/pod-runtime/kill.ts";
import { PodFiles } from "../../src/kubelet/pipeline/pod-runtime/pod-files.ts";
import { PodRuntime } from "../../src/kubelet/pipeline/pod-runtime/pod-runtime.ts";
import type { PodResizing } from "../../src/kubelet/pipeline/pod-runtime/resize-pod.ts";
import { ImageManager } from "../../src/kubelet/pods/images/image-manager.ts";
import { ObservedPods } from "../../src/kubelet/state/observed-pods.ts";
import { ProbeResults } from "../../src/kubelet/state/probe-results.ts";
import { ReplacedContainers } from "../../src/kubelet/state/replaced-containers.ts";
import { StartingContainers } from "../../src/kubelet/state/starting-containers.ts";
import { systemClock } from "../../src/lib/base/clock.ts";
import { ConcurrencyLimiter } from "../../src/lib/base/concurrency-limiter.ts";
import { FakeClock } from "../../src/lib/base/fake-clock.ts";
import { silentLogger } from "../../src/lib/base/logger.ts";
import { createMetrics } from "../../src/lib/base/metrics.ts";
import { createCriClient } from "../../src/lib/clients/cri/client.ts";
import { ContainerState, PodSandboxState } from "../../src/lib/gen/runtime/v1/api_pb.js";
import type { Pod } from "../../src/lib/model/pod.ts";
import type { Waiting } from "../../src/lib/model/pod-sync.ts";
import { startFakeRuntime } from "../fake-runtime/fake-runtime.ts";
import type { RegistryEntry } from "../fake-runtime/images.ts";
import { testUid } from "./pods.ts";
import { plainRequests } from "./requests.ts";

/** PodRuntime with its dependencies, on the fake runtime behind a real socket. */
export async function podRuntimeOnFake(
  t: TestContext,
  options: { registry?: Record<string, RegistryEntry>; hooks?: Hooks; resizing?: PodResizing } = {},
) {
  const dir = await mkdtemp(join(tmpdir(), "pod-runtime-"));
  const clock = new FakeClock();
  const fake = await startFakeRuntime({ socketPath: join(dir, "cri.sock"), clock, ...options });
  const client = createCriClient({
    runtimeEndpoint: fake.endpoint,
    requestTimeoutMs: 10_000,
    logger: silentLogger,
    clock: systemClock,
    metrics: createMetrics(),
  });
  const stop = new AbortController();
  t.after(async () => {
    stop.abort();
    client.close();
    await fake.close();
    await rm(dir, { recursive: true });
  });
  const observed = new ObservedPods();
  const starting = new StartingContainers();
  const pleg = new Pleg({
    runtime: client,
    observed,
    clock,
    logger: silentLogger,
    relistEveryMs: () => 3_600_000,
    onEvent: () => {},
  });
  await pleg.start(stop.signal);
  await pleg.synced;
  const output: string[] = [];
  const events = {
    normal: (_pod: Pod, reason: string, message: string) => void output.push(`${reason}: ${message}`),
    warning: (_pod: Pod, reason: string, message: string) => void output.push(`${reason}! ${message}`),
  };
  const podLogsDir = join(dir, "logs");
  const files = new PodFiles({ rootDir: dir, podLogsDir, containerLogsDir: join(dir, "links") });
  const cgroups: string[] = [];
  const missingCgroups = new Set<string>();
  const cgroupFailure: { error?: Error } = {};
  const make = () =>
    new PodRuntime({
      runtime: client,
      images: new ImageManager({
        images: client,
        clock,
        parallelPulls: 2,
        pullsPerSecond: 0,
        pullBurst: 1,
        prefetch: true,
        events,
      }),
      requests: plainRequests(podLogsDir),
      cgroups: {
        ensure: async (pod) => {
          if (cgroupFailure.error) throw cgroupFailure.error;
          missingCgroups.delete(pod.metadata.uid);
          cgroups.push(`create ${pod.metadata.uid}`);
        },
        exists: async (pod) => !missingCgroups.has(pod.metadata.uid),
        remove: async (uid) => void cgroups.push(`remove ${uid}`),
        removeUnknown: async (_pod, knownIds) => {
          cgroups.push(`keep ${knownIds.size}`);
          return [];
        },
      },
      ...(options.resizing && { resizing: options.resizing }),
      files,
      observed,
      pleg,
      limiter: new ConcurrencyLimiter(4),
      clock,
      logger: silentLogger,
      events,
      maxRestartDelayMs: 300_000,
      hooks: options.hooks ?? { run: async () => {} },
      replaced: new ReplacedContainers(),
      starting,
      probes: new ProbeResults(),
    });
  const waiting = new Map<string, Waiting>();
  const blocked: string[] = [];
  const report = {
    blockedOn: (text: string) => void blocked.push(text),
    waiting: (name: string, why: Waiting | undefined) =>
      void (why ? waiting.set(name, why) : waiting.delete(name)),
  };
  const { signal } = stop;
  let runtime = make();
  const reasons = () => Object.fromEntries([...waiting].map(([name, why]) => [name, why.reason]));
  const names = () =>
    [...fake.pods.containers.values()]
      .map(
        (c) =>
          `${c.config.metadata?.name}#${c.config.metadata?.attempt} ${ContainerState[c.state].slice(10).toLowerCase()}`,
      )
      .sort((a, b) => (a < b ? -1 : 1));
  return {
    dir,
    clock,
    client,
    fake,
    output,
    files,
    cgroups,
    /** Pods whose cgroup is gone. */
    missingCgroups,
    /** Makes the creation of cgroups fail. */
    cgroupFailure,
    waiting,
    reasons,
    blocked,
    names,
    observed,
    starting,
    pleg,
    report,
    signal,
    prefetch: (pod: Pod) => runtime.prefetch(pod),
    sync: (pod: Pod) => runtime.sync(pod, report, signal),
    syncWith: (pod: Pod, pass: AbortSignal) => runtime.sync(pod, report, pass),
    end: (pod: Pod) => runtime.stop(pod.metadata.uid, pod, { signal, report }),
    release: (pod: Pod) => runtime.release(pod.metadata.uid),
    remove: (pod: Pod) => runtime.remove(pod.metadata, signal),
    /** A relist so late that the PLEG knows which pods are absent. */
    settle: async () => {
      await clock.advance(60_000);
      pleg.relistSoon();
      for (;;) {
        await pleg.refresh(testUid);
        if (pleg.isAbsent(testUid)) return;
      }
    },
    /** A new agent without state takes over. */
    newAgent: () => {
      runtime = make();
    },
    /** Lets the running container of that name exit, and refreshes. */
    exit: async (name: string, code: number) => {
      const found = [...fake.pods.containers.values()].find(
        (c) => c.config.metadata?.name === name && c.state === ContainerState.CONTAINER_RUNNING,
      );
      fake.exit(found!.id, code);
      await clock.advance(0);
      await pleg.refresh(testUid);
    },
    sandboxes: () =>
      [...fake.pods.sandboxes.values()].map(
        (s) =>
          `#${s.config.metadata?.attempt} ${s.state === PodSandboxState.SANDBOX_READY ? "ready" : "stopped"}`,
      ),
  };
}
