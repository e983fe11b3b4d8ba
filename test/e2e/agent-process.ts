import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, openSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { PodRow } from "../../src/kubelet/explain/pod-overview.ts";
import { systemClock } from "../../src/lib/base/clock.ts";
import { silentLogger } from "../../src/lib/base/logger.ts";
import { createMetrics } from "../../src/lib/base/metrics.ts";
import { createCriClient } from "../../src/lib/clients/cri/client.ts";
import type { CriClient } from "../../src/lib/clients/cri/cri.ts";
import { cgroupFilesystem, detectLayout } from "../../src/lib/host/cgroups/mounted-cgroups.ts";
import { cgroupMounts, readMounts } from "../../src/lib/host/mount-table.ts";
import { kubeletProgram } from "../kubelet-program.ts";
import type { TestNode } from "../node/test-node.ts";
import { freePort } from "./free-port.ts";

export { freePort } from "./free-port.ts";

export const repoDir = fileURLToPath(new URL("../..", import.meta.url));
/** Flags of a kubelet that leaves the settings of the machine alone. The second one is deprecated, which is reported on standard error. */
export const leavesHostUnchanged = ["--keep-kernel-tunables", "--make-iptables-util-chains=false"];

/** The kubelet as a process on a test node: started, killed and restarted as a user would. */
export class AgentProcess {
  readonly node: TestNode;
  readonly configFile: string;
  readonly logFile: string;
  readonly healthPort: number;
  #child: ChildProcess | undefined;

  private constructor(node: TestNode, healthPort: number, config: Record<string, unknown>) {
    this.node = node;
    this.healthPort = healthPort;
    mkdirSync(node.rootDir, { recursive: true });
    this.configFile = join(node.rootDir, "..", "kubelet.json");
    this.logFile = join(node.rootDir, "..", "kubelet.log");
    writeFileSync(
      this.configFile,
      JSON.stringify({
        apiVersion: "kubelet.config.k8s.io/v1beta1",
        kind: "KubeletConfiguration",
        staticPodPath: node.manifests,
        // Long, so that a passing test shows that nothing waited for it.
        fileCheckFrequency: "1h",
        containerRuntimeEndpoint: node.endpoint,
        podLogsDir: node.logDir,
        volumePluginDir: join(node.rootDir, "..", "volume-plugins"),
        cgroupRoot: node.cgroupRoot,
        failCgroupV1: false,
        failSwapOn: false,
        makeIPTablesUtilChains: false,
        // Test images are kept, however full the disk is.
        imageGCHighThresholdPercent: 100,
        healthzPort: healthPort,
        enableServer: false,
        ...config,
      }),
    );
  }

  static async create(node: TestNode, config: Record<string, unknown> = {}): Promise<AgentProcess> {
    await makeCgroupRoot(node.cgroupRoot);
    return new AgentProcess(node, await freePort(), config);
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** Starts the agent; resolves as soon as the process exists. */
  start(extra: readonly string[] = [], env: NodeJS.ProcessEnv = process.env): void {
    const log = openSync(this.logFile, "a");
    this.#child = spawn(
      process.execPath,
      [
        kubeletProgram,
        `--config=${this.configFile}`,
        `--root-dir=${this.node.rootDir}`,
        "-v=4",
        "--keep-kernel-tunables",
        ...extra,
      ],
      { stdio: ["ignore", log, log], env },
    );
  }

  /** Sends a signal and waits until the process has exited. */
  async end(signal: NodeJS.Signals): Promise<number | null> {
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return child?.exitCode ?? null;
    const exited = once(child, "exit");
    child.kill(signal);
    await exited;
    return child.exitCode;
  }

  /** The exit code of an agent that exits on its own. */
  async exited(): Promise<number | null> {
    const child = this.#child;
    if (child && child.exitCode === null && child.signalCode === null) await once(child, "exit");
    return child?.exitCode ?? null;
  }

  /** The pods as `kubelet pods -o json` would show them; undefined while the agent does not run. */
  async pods(): Promise<PodRow[] | undefined> {
    const response = await get({ socketPath: join(this.node.rootDir, "kubelet.sock"), path: "/pods" });
    return response && (JSON.parse(response.body) as { pods: PodRow[] }).pods;
  }

  health(path = "/healthz"): Promise<{ status: number; body: string } | undefined> {
    return get({ host: "127.0.0.1", port: this.healthPort, path });
  }

  log(): string {
    return readFileSync(this.logFile, "utf8");
  }

  /** The log links of this node's pods, in the directory that all kubelets of a machine share. */
  links(): string[] {
    const dir = "/var/log/containers";
    return names(dir)
      .map((name) => join(dir, name))
      .filter((link) => {
        try {
          return readlinkSync(link).startsWith(`${this.node.logDir}/`);
        } catch {
          return false;
        }
      });
  }

  /** Stops agent and node, and removes everything that they leave on the machine. */
  async destroy(): Promise<void> {
    await this.end("SIGKILL");
    for (const link of this.links()) rmSync(link, { force: true });
    await this.node.stop();
  }
}

/** The runtime itself, called without a kubelet in between. */
export function runtimeClient(endpoint: string): CriClient {
  return createCriClient({
    runtimeEndpoint: endpoint,
    requestTimeoutMs: 10_000,
    logger: silentLogger,
    clock: systemClock,
    metrics: createMetrics(),
  });
}

function names(dir: string): string[] {
  try {
    return readdirSync(dir);
  } catch {
    return [];
  }
}

/** As an operator would have to: a kubelet does not create its configured parent cgroup. */
async function makeCgroupRoot(cgroupRoot: string): Promise<void> {
  await cgroupFilesystem(await detectLayout()).create(cgroupRoot, {});
}

/** The directories of a cgroup in every hierarchy. */
export function cgroupDirs(path: string): string[] {
  return cgroupMounts(readMounts()).flatMap((mount) =>
    names(join(mount, path)).map((name) => join(mount, path, name)),
  );
}

/** The content of a cgroup file, in the hierarchy that has it. */
export function cgroupFile(path: string, file: string): string | undefined {
  const found = cgroupMounts(readMounts()).find((mount) => names(join(mount, path)).includes(file));
  return found && readFileSync(join(found, path, file), "utf8").trim();
}

/** A GET; undefined if there is no response. */
export function get(options: object): Promise<{ status: number; body: string } | undefined> {
  return new Promise((resolve) => {
    const call = request({ timeout: 5000, ...options }, (response) => {
      let body = "";
      response.setEncoding("utf8");
      response.on("data", (chunk) => {
        body += chunk;
      });
      response.on("end", () => resolve({ status: response.statusCode ?? 0, body }));
      response.on("error", () => resolve(undefined));
    });
    call.on("timeout", () => call.destroy());
    call.on("error", () => resolve(undefined));
    call.end();
  });
}
