import assert from "node:assert/strict";
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { ApiUser } from "../cluster/api-user.ts";
import { container, nodeName } from "../cluster/cluster-node.ts";
import { leavesHostUnchanged } from "../e2e/agent-process.ts";
import { freePort } from "../e2e/free-port.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { type FakeRuntime, startFakeRuntime } from "../fake-runtime/fake-runtime.ts";
import { removeDir } from "../node/remove-dir.ts";
import { cpuBetween, residentMiB, threadCpuMs } from "./process-stats.ts";

const pods = "/api/v1/namespaces/default/pods";

interface PodList {
  readonly items: readonly { readonly status: { readonly phase?: string } }[];
}

/** A built kubelet as a node of a cluster: its own API (`kubelet api`), and a runtime in memory in this process. */
export class ClusterAgent {
  readonly #children: ChildProcess[] = [];
  readonly #dir: string;
  readonly #runtime: FakeRuntime;
  #api: ApiUser | undefined;

  private constructor(dir: string, runtime: FakeRuntime) {
    this.#dir = dir;
    this.#runtime = runtime;
  }

  /**
   * Resolves when its node is registered. `kubelet` is the path of a `bin/kubelet`, `env` the environment of the agent, `flags` are
   * added to its flags.
   */
  static async start(
    kubelet: string,
    env: NodeJS.ProcessEnv = process.env,
    flags: readonly string[] = [],
  ): Promise<ClusterAgent> {
    const dir = await mkdtemp(join(tmpdir(), "agent-of-cluster-"));
    const runtime = await startFakeRuntime({ socketPath: join(dir, "cri.sock"), events: true });
    const agent = new ClusterAgent(dir, runtime);
    try {
      await agent.#start(kubelet, env, flags);
    } catch (error) {
      await agent.stop();
      throw error;
    }
    return agent;
  }

  async #start(kubelet: string, env: NodeJS.ProcessEnv, more: readonly string[]): Promise<void> {
    const api = spawn(kubelet, ["api", "--dir", join(this.#dir, "api"), "--node", nodeName], {
      stdio: ["ignore", "pipe", "ignore"],
    });
    this.#children.push(api);
    const url = await address(api);
    const text = (file: string) => readFile(join(this.#dir, "api", file), "utf8");
    this.#api = new ApiUser({ url, ca: await text("pki/ca.crt"), kubeconfig: await text("kubeconfig") });
    await mkdir(join(this.#dir, "manifests"));
    const known = execFileSync(kubelet, ["--help"], { encoding: "utf8" });
    const flags = [...(await this.#flags()), ...more].filter((flag) => known.includes(flag.split("=")[0]!));
    this.#children.push(spawn(kubelet, flags, { stdio: "ignore", env }));
    await waitFor(() => this.#user.get(`/api/v1/nodes/${nodeName}`));
    await waitFor(() => this.#user.get("/api/v1/namespaces/default/serviceaccounts/default"));
  }

  /** A build that is compared with may be older than some of them. */
  async #flags(): Promise<string[]> {
    return [
      `--kubeconfig=${join(this.#dir, "api/kubelet.kubeconfig")}`,
      `--root-dir=${join(this.#dir, "root")}`,
      `--cert-dir=${join(this.#dir, "pki")}`,
      `--pod-manifest-path=${join(this.#dir, "manifests")}`,
      `--container-runtime-endpoint=${this.#runtime.endpoint}`,
      `--hostname-override=${nodeName}`,
      `--port=${await freePort()}`,
      "--address=127.0.0.1",
      "--read-only-port=0",
      "--cgroups-per-qos=false",
      "--enforce-node-allocatable=",
      "--fail-cgroupv1=false",
      "--fail-swap-on=false",
      ...leavesHostUnchanged,
      "--resolv-conf=",
      "--healthz-port=0",
      "--image-gc-high-threshold=100",
      // No measurement crosses these thresholds: they only add the cost of measuring.
      "--eviction-hard=memory.available<100Mi,nodefs.available<2%,nodefs.inodesFree<2%,imagefs.available<2%,pid.available<2%",
    ];
  }

  get #user(): ApiUser {
    assert.ok(this.#api, "the API has not been started");
    return this.#api;
  }

  /** The socket of the local API of the agent. */
  get socketPath(): string {
    return join(this.#dir, "root/kubelet.sock");
  }

  get pid(): number {
    return this.#children[1]!.pid!;
  }

  /** Creates pods and waits until exactly these run. */
  async run(prefix: string, count: number): Promise<void> {
    const spec = { nodeName, terminationGracePeriodSeconds: 1, containers: [container()] };
    const create = (_: unknown, i: number) =>
      this.#user.create(pods, {
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name: `${prefix}-${i}` },
        spec,
      });
    await Promise.all(Array.from({ length: count }, create));
    await this.#areRunning(count);
  }

  /** Deletes pods and waits until none is left. */
  async remove(prefix: string, count: number): Promise<void> {
    for (let i = 0; i < count; i++) await this.#user.delete(`${pods}/${prefix}-${i}`);
    await this.#areRunning(0);
  }

  /** Changes a label of a pod. */
  async label(name: string, value: string): Promise<void> {
    await this.#user.patch(`${pods}/${name}`, { metadata: { labels: { change: value } } });
  }

  async #areRunning(count: number): Promise<void> {
    const check = async () => {
      const { items } = await this.#user.get<PodList>(pods);
      const running = items.filter(({ status }) => status.phase === "Running");
      assert.deepEqual([running.length, items.length], [count, count]);
    };
    await waitFor(check, 300_000);
  }

  residentMiB(): number {
    return residentMiB(this.pid);
  }

  /** CPU time so far; `cpuMs` has steps of 10 ms, which are 5 % of an idle minute. */
  cpuMs(): number {
    return cpuBetween(new Map(), threadCpuMs(this.pid));
  }

  /** Stops the agent first, with SIGTERM: it writes the compile cache when it exits. */
  async stop(): Promise<void> {
    this.#api?.close();
    for (const child of this.#children.toReversed()) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      const exited = once(child, "exit");
      child.kill("SIGTERM");
      await exited;
    }
    await this.#runtime.close();
    await removeDir(this.#dir);
  }
}

async function address(api: ChildProcess): Promise<string> {
  for await (const line of createInterface({ input: api.stdout! })) {
    const [, url] = /^serving (\S+)$/.exec(line) ?? [];
    if (url) return url;
  }
  throw new Error("kubelet api has exited");
}
