// The lag of the sync loop while pods start and many clients follow logs and have exec sessions, compared with the same agent
// without these clients.
import { once } from "node:events";
import { rmSync } from "node:fs";
import { get } from "node:https";
import { join } from "node:path";
import { openWebSocket } from "../../src/kubelet/server/streaming/fake-client.ts";
import { podsOf } from "../e2e/agent-pods.ts";
import { AgentProcess, freePort } from "../e2e/agent-process.ts";
import { manifest, writeManifest } from "../e2e/manifests.ts";
import { parsePrometheus } from "../metrics/prometheus-text.ts";
import { type ContainerdVersion, startTestNode } from "../node/test-node.ts";
import { httpsText } from "./bench-kubelet.ts";
import type { OptionTable, OptionValues } from "./options.ts";
import { until } from "./until.ts";

const limitMs = 100;

export const summary = "the lag of the event loop while logs are followed and exec sessions run";
export const options = {
  follows: { kind: "count", default: 200, help: "logs that are followed" },
  execs: { kind: "count", default: 50, help: "exec sessions" },
  writers: { kind: "count", default: 10, help: "pods that write logs" },
  pods: { kind: "count", default: 20, help: "pods that are started and stopped in the meantime" },
  "lines-per-second": { kind: "count", default: 10, help: "lines of each log" },
  containerd: { kind: "choice", default: "2.x", values: ["1.6", "2.x"], help: "version of containerd" },
} as const satisfies OptionTable;

const probe = new URL("../server/agent-probe.mjs", import.meta.url).href;

type Options = OptionValues<typeof options>;

interface Lag {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
  readonly count: number;
}

export async function run(o: Options): Promise<boolean> {
  const node = await startTestNode({ containerd: o.containerd as ContainerdVersion });
  const port = await freePort();
  const agent = await AgentProcess.create(node, {
    enableServer: true,
    address: "127.0.0.1",
    port,
    authorization: { mode: "AlwaysAllow" },
    authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
  });
  try {
    return await new StreamsBench(agent, port, o).run();
  } finally {
    await agent.destroy();
  }
}

/** One agent with its clients. */
class StreamsBench {
  readonly #agent: AgentProcess;
  readonly #port: number;
  readonly #o: Options;
  readonly #clients = { lines: 0, gaps: 0, echoes: 0, open: 0 };

  constructor(agent: AgentProcess, port: number, o: Options) {
    this.#agent = agent;
    this.#port = port;
    this.#o = o;
  }

  async run(): Promise<boolean> {
    const { follows, execs, pods } = this.#o;
    const names = await this.#startWriters();
    await this.#startPods("warm");
    await this.#measure("warm-up, not counted", () => this.#startPods("warm"));
    const baseline = await this.#measure(`${pods} pods start, without clients`, () =>
      this.#startPods("floor"),
    );
    const clients = this.#clients;
    const sockets = await this.#openClients(names);
    await until(
      `${follows} logs and ${execs} sessions are open`,
      async () => clients.open === follows + execs,
    );
    const before = { ...clients };
    const startedAt = performance.now();
    const loaded = await this.#measure(
      `${pods} pods start, ${follows} logs are followed, ${execs} exec sessions are active`,
      () => this.#startPods("loaded"),
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
    return ok;
  }

  /** Starts the agent and the pods whose logs are followed; returns their names. */
  async #startWriters(): Promise<string[]> {
    const { rootDir, manifests } = this.#agent.node;
    this.#agent.start([`--cert-dir=${join(rootDir, "..", "pki")}`, "-v=1"], {
      ...process.env,
      NODE_OPTIONS: `--import=${probe}`,
    });
    const pause = 1 / this.#o["lines-per-second"];
    const writeLines = `i=0; trap 'exit 0' TERM; while true; do i=$((i+1)); echo "line $i of a log, with the length of a typical line in a log"; sleep ${pause}; done`;
    const writers = Array.from({ length: this.#o.writers }, (_, i) => `writer-${i}`);
    for (const name of writers)
      writeManifest(manifests, `${name}.yaml`, manifest({ name, command: ["sh", "-c", writeLines] }));
    const known = podsOf(this.#agent);
    const names: string[] = [];
    for (const name of writers) names.push((await known.running(name, 120_000)).name);
    return names;
  }

  /** Creates pods, waits until they run, and deletes them. */
  async #startPods(kind: string): Promise<void> {
    const all = Array.from({ length: this.#o.pods }, (_, i) => `${kind}-${i}`);
    for (const name of all) writeManifest(this.#agent.node.manifests, `${name}.yaml`, manifest({ name }));
    const { running, gone } = podsOf(this.#agent);
    for (const name of all) await running(name, 180_000);
    for (const name of all) rmSync(join(this.#agent.node.manifests, `${name}.yaml`));
    for (const name of all) await gone(name, 180_000);
  }

  /** The lag of the agent's event loop during an operation, with and without the time it waited for a CPU. */
  async #measure(what: string, work: () => Promise<void>): Promise<Lag> {
    const counted = await this.#lagBuckets();
    await this.#readLag();
    const startedAt = performance.now();
    await work();
    const seconds = (performance.now() - startedAt) / 1000;
    const { loop, own } = await this.#readLag();
    const reported = quantile(counted, await this.#lagBuckets(), 0.99);
    const shown = ({ p50, p99, max }: Lag) =>
      `p50 ${p50.toFixed(1)}, p99 ${p99.toFixed(1)}, max ${max.toFixed(1)} ms`;
    console.log(`${what} (${seconds.toFixed(1)} s, ${loop.count} samples)`);
    console.log(`  event loop lag ${shown(loop)}; own ${shown(own)}`);
    console.log(`  sync loop lag p99 <= ${reported * 1000} ms`);
    return own;
  }

  async #readLag(): Promise<{ readonly loop: Lag; readonly own: Lag }> {
    const lines = () =>
      this.#agent
        .log()
        .split("\n")
        .filter((line) => line.startsWith("PROBE {"));
    const before = lines().length;
    process.kill(this.#agent.pid ?? 0, "SIGUSR2");
    await until("the agent reports", async () => lines().length > before, 20);
    return JSON.parse(lines()[before]?.slice(6) ?? "{}");
  }

  /** Histogram of the sync loop lag, by upper bound. */
  async #lagBuckets(): Promise<Map<number, number>> {
    const text = await httpsText(this.#port, "/metrics");
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

  /** Opens all logs and sessions. Returns functions that close them. */
  async #openClients(names: readonly string[]): Promise<(() => void)[]> {
    const ends: (() => void)[] = [];
    for (let i = 0; i < this.#o.follows; i++) ends.push(await this.#follow(names[i % names.length] ?? ""));
    for (let i = 0; i < this.#o.execs; i++) ends.push(await this.#openSession(names[i % names.length] ?? ""));
    return ends;
  }

  async #follow(pod: string): Promise<() => void> {
    const path = `/containerLogs/default/${pod}/c?follow=true&tailLines=1`;
    const call = get({ host: "127.0.0.1", port: this.#port, path, rejectUnauthorized: false, agent: false });
    const [response] = await once(call, "response");
    if (response.statusCode !== 200) throw new Error(`${path}: ${response.statusCode}`);
    this.#clients.open++;
    let rest = "";
    let last: number | undefined;
    response.setEncoding("utf8").on("data", (chunk: string) => {
      const lines = (rest + chunk).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        const number = Number(line.split(" ")[1]);
        if (last !== undefined && number !== last + 1) this.#clients.gaps++;
        last = number;
        this.#clients.lines++;
      }
    });
    response.on("error", () => {});
    return () => call.destroy();
  }

  /** Opens an exec session with periodic input. */
  async #openSession(pod: string): Promise<() => void> {
    const path = `/exec/default/${pod}/c?input=1&output=1&command=cat`;
    const { socket, send, received } = await openWebSocket(this.#port, path, "v5.channel.k8s.io");
    this.#clients.open++;
    const timer = setInterval(() => {
      this.#clients.echoes += received.get(1)?.length ?? 0;
      received.delete(1);
      send(0, "some input\n");
    }, 250);
    return () => {
      clearInterval(timer);
      socket.destroy();
    };
  }
}

function quantile(from: Map<number, number>, to: Map<number, number>, share: number): number {
  const counts = [...to].map(([bound, count]) => [bound, count - (from.get(bound) ?? 0)] as const);
  const all = Math.max(...counts.map(([, count]) => count));
  return Math.min(...counts.filter(([, count]) => count >= share * all).map(([bound]) => bound));
}
