// The lag of the sync loop while pods start and many clients follow logs and have exec sessions, compared with the same agent
// without these clients. Exits with 1 if over the limit.
import { once } from "node:events";
import { rmSync } from "node:fs";
import { get } from "node:https";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { openWebSocket } from "../../src/kubelet/server/streaming/fake-client.ts";
import { podsOf } from "../e2e/agent-pods.ts";
import { AgentProcess, freePort } from "../e2e/agent-process.ts";
import { manifest, writeManifest } from "../e2e/manifests.ts";
import { parsePrometheus } from "../metrics/prometheus-text.ts";
import { type ContainerdVersion, startTestNode } from "../node/test-node.ts";
import { until } from "./bench-node.ts";

const limitMs = 100;

const { values } = parseArgs({
  options: {
    follows: { type: "string", default: "200" },
    execs: { type: "string", default: "50" },
    writers: { type: "string", default: "10" },
    pods: { type: "string", default: "20" },
    "lines-per-second": { type: "string", default: "10" },
    containerd: { type: "string", default: "2.x" },
  },
});
const [follows, execs, writers, pods] = [values.follows, values.execs, values.writers, values.pods].map(
  Number,
) as [number, number, number, number];

const node = await startTestNode({ containerd: values.containerd as ContainerdVersion });
const port = await freePort();
const agent = await AgentProcess.create(node, {
  ...{ enableServer: true, address: "127.0.0.1", port, authorization: { mode: "AlwaysAllow" } },
  authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
});
const probe = new URL("../server/agent-probe.mjs", import.meta.url).href;
const clients = { lines: 0, gaps: 0, echoes: 0, open: 0 };

try {
  agent.start([`--cert-dir=${join(node.rootDir, "..", "pki")}`, "-v=1"], {
    ...process.env,
    NODE_OPTIONS: `--import=${probe}`,
  });
  const known = podsOf(agent);
  const pause = 1 / Number(values["lines-per-second"]);
  const writeLines = `i=0; trap 'exit 0' TERM; while true; do i=$((i+1)); echo "line $i of a log, with the length of a typical line in a log"; sleep ${pause}; done`;
  for (let i = 0; i < writers; i++)
    writeManifest(
      node.manifests,
      `writer-${i}.yaml`,
      manifest({ name: `writer-${i}`, command: ["sh", "-c", writeLines] }),
    );
  const names: string[] = [];
  for (let i = 0; i < writers; i++) names.push((await known.running(`writer-${i}`, 120_000)).name);

  await startPods("warm");
  await measure("warm-up, not counted", () => startPods("warm"));
  const baseline = await measure(`${pods} pods start, without clients`, () => startPods("floor"));
  const sockets = await openClients(names);
  await until(`${follows} logs and ${execs} sessions are open`, async () => clients.open === follows + execs);
  const before = { ...clients };
  const startedAt = performance.now();
  const loaded = await measure(
    `${pods} pods start, ${follows} logs are followed, ${execs} exec sessions are active`,
    () => startPods("loaded"),
  );
  const seconds = (performance.now() - startedAt) / 1000;
  const rate = (count: number) => Math.round(count / seconds);
  console.log(
    `  ${rate(clients.lines - before.lines)} lines and ${rate(clients.echoes - before.echoes)} echoes a second; ${clients.gaps} lines lost`,
  );
  for (const end of sockets) end();
  const ok =
    loaded.p99 <= limitMs &&
    clients.gaps === 0 &&
    clients.lines > before.lines &&
    clients.echoes > before.echoes;
  console.log(
    `own lag, p99: ${loaded.p99.toFixed(1)} ms, without clients ${baseline.p99.toFixed(1)} ms (limit ${limitMs} ms) ${ok ? "ok" : "OVER"}`,
  );
  if (!ok) process.exitCode = 1;
} finally {
  await agent.destroy();
}

/** Creates pods, waits until they run, and deletes them. */
async function startPods(kind: string): Promise<void> {
  const all = Array.from({ length: pods }, (_, i) => `${kind}-${i}`);
  for (const name of all) writeManifest(node.manifests, `${name}.yaml`, manifest({ name }));
  const { running, gone } = podsOf(agent);
  for (const name of all) await running(name, 180_000);
  for (const name of all) rmSync(join(node.manifests, `${name}.yaml`));
  for (const name of all) await gone(name, 180_000);
}

interface Lag {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
  readonly count: number;
}

/** The lag of the agent's event loop during an operation, with and without the time it waited for a CPU. */
async function measure(what: string, work: () => Promise<void>): Promise<Lag> {
  const counted = await lagBuckets();
  await readLag();
  const startedAt = performance.now();
  await work();
  const seconds = (performance.now() - startedAt) / 1000;
  const { loop, own } = await readLag();
  const reported = quantile(counted, await lagBuckets(), 0.99);
  const shown = ({ p50, p99, max }: Lag) =>
    `p50 ${p50.toFixed(1)}, p99 ${p99.toFixed(1)}, max ${max.toFixed(1)} ms`;
  console.log(`${what} (${seconds.toFixed(1)} s, ${loop.count} samples)`);
  console.log(`  event loop lag ${shown(loop)}; own ${shown(own)}`);
  console.log(`  sync loop lag p99 <= ${reported * 1000} ms`);
  return own;
}

async function readLag(): Promise<{ readonly loop: Lag; readonly own: Lag }> {
  const lines = () =>
    agent
      .log()
      .split("\n")
      .filter((line) => line.startsWith("PROBE {"));
  const before = lines().length;
  process.kill(agent.pid ?? 0, "SIGUSR2");
  await until("the agent reports", async () => lines().length > before, 20);
  return JSON.parse(lines()[before]?.slice(6) ?? "{}");
}

/** Histogram of the sync loop lag, by upper bound. */
async function lagBuckets(): Promise<Map<number, number>> {
  const text = await new Promise<string>((resolve, reject) => {
    get(
      { host: "127.0.0.1", port, path: "/metrics", rejectUnauthorized: false, agent: false },
      (response) => {
        let body = "";
        response.on("data", (chunk) => {
          body += chunk;
        });
        response.on("end", () => resolve(body));
      },
    ).on("error", reject);
  });
  const samples = parsePrometheus(text).get("kubelet_sync_loop_lag_seconds")?.samples ?? [];
  return new Map(
    samples
      .filter(({ name }) => name.endsWith("_bucket"))
      .map(({ labels, value }) => [
        labels.le === "+Inf" ? Number.POSITIVE_INFINITY : Number(labels.le),
        value,
      ]),
  );
}

function quantile(from: Map<number, number>, to: Map<number, number>, share: number): number {
  const counts = [...to].map(([bound, count]) => [bound, count - (from.get(bound) ?? 0)] as const);
  const all = Math.max(...counts.map(([, count]) => count));
  return Math.min(...counts.filter(([, count]) => count >= share * all).map(([bound]) => bound));
}

/** Opens all logs and sessions. Returns functions that close them. */
async function openClients(names: readonly string[]): Promise<(() => void)[]> {
  const ends: (() => void)[] = [];
  for (let i = 0; i < follows; i++) ends.push(await follow(names[i % names.length] ?? ""));
  for (let i = 0; i < execs; i++) ends.push(await openSession(names[i % names.length] ?? ""));
  return ends;
}

async function follow(pod: string): Promise<() => void> {
  const path = `/containerLogs/default/${pod}/c?follow=true&tailLines=1`;
  const call = get({ host: "127.0.0.1", port, path, rejectUnauthorized: false, agent: false });
  const [response] = await once(call, "response");
  if (response.statusCode !== 200) throw new Error(`${path}: ${response.statusCode}`);
  clients.open++;
  let rest = "";
  let last: number | undefined;
  response.setEncoding("utf8").on("data", (chunk: string) => {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      const number = Number(line.split(" ")[1]);
      if (last !== undefined && number !== last + 1) clients.gaps++;
      last = number;
      clients.lines++;
    }
  });
  response.on("error", () => {});
  return () => call.destroy();
}

/** Opens an exec session with periodic input. */
async function openSession(pod: string): Promise<() => void> {
  const path = `/exec/default/${pod}/c?input=1&output=1&command=cat`;
  const { socket, send, received } = await openWebSocket(port, path, "v5.channel.k8s.io");
  clients.open++;
  const timer = setInterval(() => {
    clients.echoes += received.get(1)?.length ?? 0;
    received.delete(1);
    send(0, "some input\n");
  }, 250);
  return () => {
    clearInterval(timer);
    socket.destroy();
  };
}
