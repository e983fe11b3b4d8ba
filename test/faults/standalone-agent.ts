import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import {
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { Agent, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import type { PodRow } from "../../src/kubelet/explain/pod-overview.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { type FakeRuntime, startFakeRuntime } from "../fake-runtime/fake-runtime.ts";
import type { RegistryEntry } from "../fake-runtime/images.ts";
import { isLive } from "../fake-runtime/pod-records.ts";
import { kubeletProgram } from "../kubelet-program.ts";
import { removeDir } from "../node/remove-dir.ts";

/** The agent as a standalone process; its runtime is in the test process and outlives it. */
export class StandaloneAgent {
  readonly dir: string;
  readonly runtime: FakeRuntime;
  #child: ChildProcess | undefined;
  #connections = new Agent();

  static async create(registry: Record<string, RegistryEntry> = {}): Promise<StandaloneAgent> {
    const dir = mkdtempSync(join(tmpdir(), "standalone-"));
    const runtime = await startFakeRuntime({ socketPath: join(dir, "cri.sock"), events: true, registry });
    return new StandaloneAgent(dir, runtime);
  }

  private constructor(dir: string, runtime: FakeRuntime) {
    this.dir = dir;
    this.runtime = runtime;
    writeFileSync(
      this.#configFile,
      JSON.stringify({
        apiVersion: "kubelet.config.k8s.io/v1beta1",
        kind: "KubeletConfiguration",
        containerRuntimeEndpoint: runtime.endpoint,
        podLogsDir: this.#logs,
        volumePluginDir: join(this.dir, "volume-plugins"),
        cgroupsPerQOS: false,
        enforceNodeAllocatable: [],
        failCgroupV1: false,
        failSwapOn: false,
        makeIPTablesUtilChains: false,
        healthzPort: 0,
        resolvConf: "",
        imageGCHighThresholdPercent: 100,
        enableServer: false,
      }),
    );
  }

  get #configFile(): string {
    return join(this.dir, "kubelet.json");
  }

  get #logs(): string {
    return join(this.dir, "logs");
  }

  get rootDir(): string {
    return join(this.dir, "root");
  }

  /** The launcher is a command line that ends with the command line of Node.js. */
  start(
    flags: readonly string[] = [],
    program = kubeletProgram,
    [command, ...first]: readonly [string, ...string[]] = [process.execPath],
  ): void {
    const log = openSync(join(this.dir, "log"), "a");
    const common = [
      `--config=${this.#configFile}`,
      `--root-dir=${this.rootDir}`,
      "--hostname-override=node-a",
      "--keep-kernel-tunables",
    ];
    this.#connections = new Agent({ keepAlive: true });
    this.#child = spawn(command, [...first, program, ...common, ...flags], {
      stdio: ["ignore", log, log],
    });
  }

  /** Resolves when it responds. */
  async ready(): Promise<void> {
    await waitFor(async () => assert.equal((await this.request("GET", "/manifests")).status, 200), 60_000);
  }

  signal(name: NodeJS.Signals): void {
    this.#child?.kill(name);
  }

  /** Resolves with its exit status and signal. */
  async end(signal: NodeJS.Signals): Promise<[status: number | null, signal: NodeJS.Signals | null]> {
    const child = this.#child;
    this.#child = undefined;
    if (child && child.exitCode === null && child.signalCode === null) {
      const exited = once(child, "exit");
      child.kill(signal);
      await exited;
    }
    this.#connections.destroy();
    return [child?.exitCode ?? null, child?.signalCode ?? null];
  }

  /** A request on the local socket; fails without a complete response. */
  request(method: string, path: string, body?: string): Promise<{ status: number; body: string }> {
    const socketPath = join(this.rootDir, "kubelet.sock");
    return new Promise((resolve, reject) => {
      const call = request({ socketPath, method, path, agent: this.#connections }, (response) => {
        buffer(response).then(
          (bytes) => resolve({ status: response.statusCode ?? 0, body: bytes.toString() }),
          reject,
        );
      });
      call.on("error", reject);
      call.end(body);
    });
  }

  async pods(): Promise<PodRow[]> {
    return (JSON.parse((await this.request("GET", "/pods")).body) as { pods: PodRow[] }).pods;
  }

  /** The running containers in the runtime, with the label `v` of their pods. */
  running(): { pod: string; version: string; container: string }[] {
    return [...this.runtime.pods.containers.values()].filter(isLive).map(({ id, sandbox }) => ({
      pod: (sandbox.config.metadata?.name ?? "").replace(/-node-a$/, ""),
      version: sandbox.config.labels.v ?? "",
      container: id,
    }));
  }

  log(): string {
    return readFileSync(join(this.dir, "log"), "utf8");
  }

  async destroy(): Promise<void> {
    await this.end("SIGKILL");
    await this.runtime.close();
    // All kubelets of a machine link their logs in one directory.
    for (const name of namesIn(links))
      if (pointsInto(join(links, name), this.#logs)) rmSync(join(links, name));
    await removeDir(this.dir);
  }
}

const links = "/var/log/containers";

function namesIn(dir: string): string[] {
  try {
    return readdirSync(dir);
  } catch {
    return [];
  }
}

function pointsInto(link: string, dir: string): boolean {
  try {
    return readlinkSync(link).startsWith(`${dir}/`);
  } catch {
    return false;
  }
}
