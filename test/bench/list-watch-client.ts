// The client of the list-watch benchmark, in its own process.
import { setTimeout as pause } from "node:timers/promises";
import { parseArgs } from "node:util";
import { PodConfig } from "../../src/kubelet/pipeline/pod-config/pod-config.ts";
import { ApiSource } from "../../src/kubelet/pipeline/sources/api-source.ts";
import { applyToDesired, applyToWorkers } from "../../src/kubelet/pipeline/sync-loop/pod-dispatch.ts";
import { SyncLoop } from "../../src/kubelet/pipeline/sync-loop/sync-loop.ts";
import { DesiredPods } from "../../src/kubelet/state/desired-pods.ts";
import { systemClock } from "../../src/lib/base/clock.ts";
import { silentLogger } from "../../src/lib/base/logger.ts";
import { parseKubeconfig } from "../../src/lib/clients/kube/kubeconfig.ts";
import { Reflector } from "../../src/lib/clients/kube/reflector.ts";
import { withoutManagedFields } from "../../src/lib/clients/kube/reflector-objects.ts";
import { HttpKubeTransport } from "../../src/lib/clients/kube/transport.ts";
import { realisticPod } from "./realistic-pod.ts";

const memoryLimitMiB = 25;
const lagLimitMs = 50;
const resolutionMs = 5;

const { values } = parseArgs({
  options: {
    server: { type: "string", default: "" },
    pods: { type: "string", default: "" },
    seconds: { type: "string", default: "" },
    list: { type: "string", default: "" },
  },
});

/** The longest time that the event loop was blocked. */
class Lag {
  #tickAt = performance.now();
  #cpu = process.threadCpuUsage();
  readonly #timer = setInterval(() => this.#tick(), resolutionMs);
  /** Wall time: the delay of a timer. Other load on the machine is included. */
  wallMs = 0;
  /** CPU time of our own thread: independent of other load. */
  ownMs = 0;

  #tick(): void {
    const now = performance.now();
    const { user, system } = process.threadCpuUsage(this.#cpu);
    this.wallMs = Math.max(this.wallMs, now - this.#tickAt - resolutionMs);
    this.ownMs = Math.max(this.ownMs, (user + system) / 1000);
    this.#cpu = process.threadCpuUsage();
    this.#tickAt = now;
  }

  async end(): Promise<this> {
    await pause(resolutionMs * 2);
    clearInterval(this.#timer);
    return this;
  }

  toString(): string {
    return `${this.ownMs.toFixed(1)} ms of CPU without yielding (${this.wallMs.toFixed(1)} ms of wall time)`;
  }
}

const rssMiB = () => process.memoryUsage.rss() / 1024 ** 2;

async function measure(server: string, kind: string): Promise<boolean> {
  const cluster = { name: "c", cluster: { server } };
  const context = { name: "x", context: { cluster: "c", user: "u" } };
  const kubeconfig = { clusters: [cluster], contexts: [context], users: [{ name: "u", user: {} }] };
  const access = parseKubeconfig(JSON.stringify({ ...kubeconfig, "current-context": "x" }), "/bench");
  const transport = new HttpKubeTransport({ access, userAgent: "bench", qps: 0, burst: 0 });
  await transport.request({
    method: "GET",
    path: "/api/v1/pods",
    query: { limit: 1, continue: values.pods },
  });
  const client = kind === "agent" ? agentClient(transport) : plainClient(transport, kind === "streamed");
  await pause(1000);
  const idle = rssMiB();
  let peak = idle;
  const sampler = setInterval(() => (peak = Math.max(peak, rssMiB())), 50);
  const stop = new AbortController();
  const listing = new Lag();
  await client.start(stop.signal);
  await listing.end();
  const watching = new Lag();
  const cpu = process.cpuUsage();
  const counted = client.updates();
  await pause(Number(values.seconds) * 1000);
  const { user, system } = process.cpuUsage(cpu);
  const events = client.updates() - counted;
  await watching.end();
  clearInterval(sampler);
  const settled = rssMiB() - idle;
  stop.abort();
  await client.done();
  transport.close();

  const wire = JSON.stringify(realisticPod(1, 1)).length;
  const kept = JSON.stringify(withoutManagedFields(realisticPod(1, 1))).length;
  const peakMiB = peak - idle;
  // The other kinds are for comparison: they also work with a server that cannot stream lists.
  const isLimited = kind === "streamed" || kind === "agent";
  // The agent keeps more objects than its client: the last reported state, to detect changes.
  const isInMemory = kind !== "streamed" || peakMiB <= memoryLimitMiB;
  const ok = !isLimited || (isInMemory && listing.ownMs <= lagLimitMs && watching.ownMs <= lagLimitMs);
  console.log(
    [
      `${kind}: ${client.size()} pods of ${wire} bytes (${kept} kept), ${Math.round(events / Number(values.seconds))} updates/s`,
      `  memory: idle ${idle.toFixed(1)} MiB, at most ${peakMiB.toFixed(1)} MiB more (limit ${memoryLimitMiB}), at the end ${settled.toFixed(1)} MiB more`,
      `  event loop (limit ${lagLimitMs} ms): listing ${listing}, watching ${watching}`,
      `  CPU: ${((user + system) / events).toFixed(0)} ms per 1,000 updates; ${ok ? (isLimited ? "ok" : "no limits") : "OVER"}`,
      ...(client.lag ? [`  sync loop: an update waited ${client.lag()} for its worker to be notified`] : []),
    ].join("\n"),
  );
  return ok;
}

interface Client {
  /** Resolves when all pods are known. */
  start(signal: AbortSignal): Promise<void>;
  done(): Promise<void>;
  size(): number;
  updates(): number;
  lag?(): string;
}

function plainClient(transport: HttpKubeTransport, streamList: boolean): Client {
  let updates = 0;
  const listWatch = new Reflector({
    name: "pods",
    path: "/api/v1/pods",
    transport,
    clock: systemClock,
    logger: silentLogger,
    transform: withoutManagedFields,
    onChange: ({ type }) => {
      if (type === "updated") updates++;
    },
    streamList,
  });
  return {
    start: async (signal) => {
      await listWatch.start(signal);
      await listWatch.synced;
    },
    done: () => listWatch.done,
    size: () => listWatch.store.size,
    updates: () => updates,
  };
}

/** The path of pods through the agent: source, pod-config, sync loop, up to the workers. */
function agentClient(transport: HttpKubeTransport): Client {
  const clock = systemClock;
  const logger = silentLogger;
  const desired = new DesiredPods();
  let updates = 0;
  let worst = 0;
  let postedAt = 0;
  let notify = () => {};
  const report = () => {
    worst = Math.max(worst, performance.now() - postedAt);
  };
  const source = new ApiSource({
    transport,
    nodeName: "n",
    after: Promise.resolve(),
    clock,
    logger,
    onPod: () => updates++,
  });
  const loop = new SyncLoop({ clock, logger });
  loop.subscribe({
    desiredPods: {
      "pods-changed": ({ change }) => {
        applyToDesired(change, desired);
        applyToWorkers(change, { update: report, terminate: report });
        notify();
      },
    },
  });
  const podConfig = new PodConfig({
    sources: [source],
    clock,
    logger,
    onChange: (change) => {
      postedAt = performance.now();
      loop.post({ kind: "pods-changed", change });
    },
  });
  return {
    start: async (signal) => {
      const known = new Promise<void>((resolve) => {
        notify = resolve;
      });
      await loop.start(signal);
      await podConfig.start(signal);
      await known;
      worst = 0;
    },
    done: async () => {
      await podConfig.done;
      await loop.done;
    },
    size: () => [...desired.all()].length,
    updates: () => updates,
    lag: () => `${worst.toFixed(1)} ms`,
  };
}

void measure(values.server, values.list).then((ok) => {
  process.exitCode = ok ? 0 : 1;
});
