import assert from "node:assert/strict";
import { it } from "node:test";
import { msUntil, systemClock } from "../../../lib/base/clock.ts";
import { silentLogger } from "../../../lib/base/logger.ts";
import { createMetrics } from "../../../lib/base/metrics.ts";
import { type MonotonicTime, plusMs, type WallTime, wallTime } from "../../../lib/base/time.ts";
import type { ContainerId, SandboxId } from "../../../lib/clients/cri/cri.ts";
import { fakePod } from "../../../lib/model/fake-pod.ts";
import type { Pod } from "../../../lib/model/pod.ts";
import type { ObservedPod } from "../../state/observed-pods.ts";
import { ProbeResults } from "../../state/probe-results.ts";
import { serveHttp } from "./fake-server.ts";
import { ProbeManager } from "./probe-manager.ts";
import { createProber, type Prober } from "./prober.ts";

const maxCount = 500;
const rounds = 4;
const periodMs = 1000;

/** When something that should happen every period started, by name. */
class Ticks {
  readonly #times = new Map<string, number[]>();

  record(name: string): number {
    const times = this.#times.get(name) ?? [];
    times.push(performance.now());
    this.#times.set(name, times);
    return times.length;
  }

  /** The 99th percentile of how late ticks are, compared with their schedules. */
  get lagMs(): number {
    const lags = [...this.#times.values()].flatMap((times) => {
      const offsets = times.map((time, i) => time - i * periodMs);
      const earliest = Math.min(...offsets);
      return offsets.map((offset) => offset - earliest);
    });
    return lags.sort((a, b) => a - b)[Math.floor(lags.length * 0.99)] ?? 0;
  }
}

/** How many probes a second this machine can run now, one at a time. */
async function probesPerSecond(prober: Prober, port: number): Promise<number> {
  const signal = new AbortController().signal;
  const probe = { httpGet: { port, path: "/" }, timeoutSeconds: 60 };
  const request = { probe, container: { name: "c", image: "" }, id: "c#1" as ContainerId, signal };
  const run = async (times: number) => {
    const since = performance.now();
    for (let i = 0; i < times; i++) await prober({ ...request, podIp: "127.0.0.1" });
    return (times * 1000) / (performance.now() - since);
  };
  await run(100);
  return run(200);
}

it("500 real probes a second are as punctual as bare timers on the same event loop", async (t) => {
  const server = await serveHttp((_, response) => response.end("ok"));
  t.after(() => server.close());
  const runtime = { execSync: () => Promise.reject(new Error("no exec here")) };
  const prober = createProber({ clock: systemClock, runtime });
  // On a machine that other processes keep busy, fewer: a queue of probes is late without any fault of the manager.
  const count = Math.min(maxCount, Math.ceil((await probesPerSecond(prober, server.port)) / 3));
  const pod = fakePod({
    spec: {
      containers: Array.from({ length: count }, (_, i) => ({
        livenessProbe: {
          ...(i % 2 ? { tcpSocket: { port: server.port } } : { httpGet: { port: server.port, path: "/" } }),
          periodSeconds: periodMs / 1000,
          timeoutSeconds: 60,
        },
      })),
    },
  });
  const startedAt = systemClock.monotonic();
  const results = new ProbeResults();
  const probes = new Ticks();
  const bad: string[] = [];
  let finished = 0;
  const all = Promise.withResolvers<void>();
  const manager = new ProbeManager({
    clock: systemClock,
    logger: silentLogger,
    metrics: createMetrics(),
    results,
    observed: { get: () => runningSince(plusMs(systemClock.wall(), -60_000), pod) },
    runtime,
    events: { normal: () => {}, warning: (_pod, _reason, message) => bad.push(message) },
    hostIps: () => [],
    random: Math.random,
    prober: (request) => {
      if (probes.record(request.id) === rounds && ++finished === count) all.resolve();
      return prober(request);
    },
  });

  // The baseline: the same number of timers that do nothing, in the same process at the same time.
  const baseline = new Ticks();
  const timers = new Set<() => void>();
  const tick = (name: string, at: MonotonicTime) => {
    const cancel = systemClock.after(Math.max(0, msUntil(systemClock, at)), () => {
      timers.delete(cancel);
      baseline.record(name);
      tick(name, plusMs(at, periodMs));
    });
    timers.add(cancel);
  };
  for (let i = 0; i < count; i++) tick(`t${i}`, plusMs(startedAt, Math.random() * periodMs));

  const stop = new AbortController();
  await manager.start(stop.signal);
  manager.addPod(pod);
  await all.promise;
  stop.abort();
  for (const cancel of timers) cancel();
  await manager.done;

  t.diagnostic(
    `${count} probes, p99 lag: probes ${probes.lagMs.toFixed(1)} ms, bare timers ${baseline.lagMs.toFixed(1)} ms`,
  );
  assert.deepEqual(bad, []);
  // In addition to the event loop delay of all timers, a probe may be off by the resolution of two timers.
  assert.ok(
    probes.lagMs <= 2 * baseline.lagMs + 4,
    `probes lag ${probes.lagMs} ms, bare timers ${baseline.lagMs} ms`,
  );
});

let observed: ObservedPod | undefined;

function runningSince(startedAt: WallTime, { metadata: { uid }, spec: { containers } }: Pod): ObservedPod {
  const sandboxId = "s" as SandboxId;
  observed ??= {
    uid,
    name: "web",
    namespace: "default",
    sandboxes: [
      {
        id: sandboxId,
        state: "ready",
        attempt: 0,
        createdAt: wallTime(0),
        ips: ["127.0.0.1"],
        hostNetwork: false,
        annotations: {},
      },
    ],
    containers: containers.map((_, i) => ({
      id: `c${i}#1` as ContainerId,
      name: `c${i}`,
      sandboxId,
      state: "running" as const,
      attempt: 0,
      hash: "",
      image: "",
      imageRef: "",
      createdAt: wallTime(0),
      startedAt,
      finishedAt: wallTime(0),
      exitCode: 0,
      reason: "",
      message: "",
      logPath: "",
      annotations: {},
    })),
  };
  return observed;
}
