import assert from "node:assert/strict";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { Pod } from "../../../src/lib/model/pod.ts";
import { AgentProcess } from "../../cluster/agent-process.ts";
import { container, TestCluster } from "../../cluster/cluster-node.ts";
import { serveApi } from "../../cluster/serve-api.ts";
import { waitFor } from "../../e2e/wait-for.ts";

const hook = new URL("../mixed/process-hook.ts", import.meta.url).pathname;
/** On a busy machine a probe may take seconds. */
const probe = { exec: { command: ["true"] }, periodSeconds: 5, timeoutSeconds: 60, failureThreshold: 10 };

/** The agent as a process that many pods run on, with API server and runtime in this process: its CPU time and heap are its own. */
export class BusyAgent {
  readonly cluster: TestCluster;
  readonly #agent: AgentProcess;

  static async start(t: TestContext): Promise<BusyAgent> {
    const cluster = await TestCluster.start(t);
    const served = await serveApi(cluster.api);
    cluster.endFirst(() => served.close());
    const kubeconfig = join(cluster.dir, "kubeconfig");
    const config = {
      apiVersion: "v1",
      kind: "Config",
      "current-context": "c",
      contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
      clusters: [{ name: "c", cluster: { server: served.url } }],
      users: [{ name: "u", user: {} }],
    };
    writeFileSync(kubeconfig, JSON.stringify(config));
    const unlimited = [
      "--kube-api-qps=10000",
      "--kube-api-burst=20000",
      "--event-qps=10000",
      "--event-burst=20000",
      "--max-pods=1000",
    ];
    const flags = [`--kubeconfig=${kubeconfig}`, "--enable-server=false", ...unlimited];
    const env = { ...process.env, PROCESS_HOOK_DIR: cluster.dir, NODE_OPTIONS: `--import ${hook}` };
    const busy = new BusyAgent(cluster, new AgentProcess(cluster, flags, env));
    await busy.addPods("first", 1);
    await busy.removePods("first", 1);
    return busy;
  }

  private constructor(cluster: TestCluster, agent: AgentProcess) {
    this.cluster = cluster;
    this.#agent = agent;
  }

  /** Pods with probes and a ConfigMap each; resolves when all are ready. */
  async addPods(prefix: string, count: number): Promise<void> {
    for (const name of names(prefix, count)) {
      const metadata = { name, namespace: "default" };
      this.cluster.api.put("configmaps", {
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata,
        data: { a: name },
      });
      this.cluster.addPod(name, {
        terminationGracePeriodSeconds: 1,
        containers: [
          container({
            readinessProbe: probe,
            livenessProbe: probe,
            volumeMounts: [{ name: "config", mountPath: "/config" }],
          }),
        ],
        volumes: [{ name: "config", configMap: { name } }],
      } as Partial<Pod["spec"]>);
    }
    await this.#agent.until(async () => {
      for (const name of names(prefix, count)) await this.cluster.runs(name, 120_000);
    });
  }

  /** Resolves when they are gone from the API server and from the runtime. */
  async removePods(prefix: string, count: number): Promise<void> {
    for (const name of names(prefix, count)) this.cluster.api.deletePod(name);
    await this.#agent.until(async () => {
      for (const name of names(prefix, count)) await this.cluster.isGone(name);
      await waitFor(() => assert.equal(this.cluster.runtime.pods.sandboxes.size, 0));
    });
    const configMaps = "/api/v1/namespaces/default/configmaps";
    for (const name of names(prefix, count))
      await this.cluster.api.request({ method: "DELETE", path: `${configMaps}/${name}` });
  }

  /** User and system time of the agent so far. */
  cpuMs(): number {
    const stat = readFileSync(`/proc/${this.#agent.pid}/stat`, "utf8");
    const [user, system] = stat
      .slice(stat.lastIndexOf(")") + 2)
      .split(" ")
      .slice(11, 13);
    return (Number(user) + Number(system)) * 10; // ticks of 1/100 s
  }

  /** Bytes in use by the agent's heap, without garbage. */
  heapBytes(): Promise<number> {
    const file = join(this.cluster.dir, "heap-bytes");
    rmSync(file, { force: true });
    process.kill(this.#agent.pid, "SIGUSR2");
    return waitFor(() => {
      const bytes = Number(readFileSync(file, "utf8"));
      assert.ok(bytes > 0);
      return bytes;
    });
  }
}

function names(prefix: string, count: number): string[] {
  return Array.from({ length: count }, (_, i) => `${prefix}-${i}`);
}
