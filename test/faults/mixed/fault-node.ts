import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { socketPathOf } from "../../../src/lib/clients/cri/endpoint.ts";
import { loadKubeconfig, type PemSource } from "../../../src/lib/clients/kube/kubeconfig.ts";
import { type NodeFiles, nodeFiles } from "../../../src/single-node/node-files.ts";
import { type NodeProcesses, processesOfNode, readProcesses } from "../../../src/single-node/processes.ts";
import { FaultyProxy } from "../../cluster/faulty-proxy.ts";
import { NodeWithApi } from "../../cluster/node-with-api.ts";
import { waitFor } from "../../e2e/wait-for.ts";
import { removeDir } from "../../node/remove-dir.ts";
import { CriProxy } from "../cri-proxy.ts";
import type { Random } from "../seeded-random.ts";
import { ErrorProxy } from "./error-proxy.ts";

const diskBytes = 64 << 20;
const hook = new URL("process-hook.ts", import.meta.url).pathname;

/**
 * A real containerd, the embedded API and the agent, with fault-injecting proxies between them, a small disk for the agent's root
 * directory, and a wall clock for the agent that can be set.
 */
export class FaultNode {
  readonly apiNode: NodeWithApi;
  readonly cri: CriProxy;
  readonly network: FaultyProxy;
  readonly errors: ErrorProxy;
  readonly files: NodeFiles;
  /** On the node, for hostPath volumes. */
  readonly hostDir: string;
  readonly #dir: string;

  static async start(random: Random): Promise<FaultNode> {
    const dir = mkdtempSync(join(tmpdir(), "fault-node-"));
    const hostDir = join(dir, "host");
    mkdirSync(hostDir);
    writeFileSync(join(dir, "offset-ms"), "0");
    let cri!: CriProxy;
    let network!: FaultyProxy;
    let errors!: ErrorProxy;
    const apiNode = await NodeWithApi.start("2.x", {
      prepare: async (node) => {
        mkdirSync(node.rootDir, { recursive: true });
        execFileSync("mount", ["-t", "tmpfs", "-o", `size=${diskBytes}`, "fault-disk", node.rootDir]);
        cri = await CriProxy.open(join(dir, "cri.sock"), socketPathOf(node.endpoint));
      },
      join: async (_node, api) => {
        const { cluster, user } = await loadKubeconfig(api.nodeKubeconfig);
        const pki = (name: string) => readFileSync(join(api.dir, "pki", name), "utf8");
        const { cert, key } = user.clientCertificate!;
        errors = await ErrorProxy.open({
          port: Number(cluster.server.port),
          serving: { key: pki("apiserver.key"), cert: pki("apiserver.crt") },
          client: { key: pemOf(key), cert: pemOf(cert), ca: pki("ca.crt") },
          random,
        });
        network = await FaultyProxy.open(errors.port, []);
        const kubeconfig = readFileSync(api.nodeKubeconfig, "utf8");
        const server = cluster.server.origin;
        assert.ok(kubeconfig.includes(server));
        writeFileSync(
          join(dir, "kubeconfig"),
          kubeconfig.replaceAll(server, server.replace(cluster.server.port, String(network.port))),
        );
      },
      config: () => ({
        containerRuntimeEndpoint: cri.endpoint,
        runtimeRequestTimeout: "10s",
        syncFrequency: "5s",
        crashLoopBackOff: { maxContainerRestartPeriod: "2s" },
        // A full disk is a fault of its own here, not a reason for evictions.
        evictionHard: { "memory.available": "1Mi" },
      }),
      env: { ...process.env, PROCESS_HOOK_DIR: dir, NODE_OPTIONS: `--import ${hook}` },
      flags: () => [`--kubeconfig=${join(dir, "kubeconfig")}`],
    });
    return new FaultNode(apiNode, cri, network, errors, dir, hostDir);
  }

  private constructor(
    apiNode: NodeWithApi,
    cri: CriProxy,
    network: FaultyProxy,
    errors: ErrorProxy,
    dir: string,
    hostDir: string,
  ) {
    this.apiNode = apiNode;
    this.cri = cri;
    this.network = network;
    this.errors = errors;
    this.files = nodeFiles(apiNode.node.name);
    this.hostDir = hostDir;
    this.#dir = dir;
  }

  processes(): NodeProcesses {
    return processesOfNode(this.files, readProcesses(), process.pid);
  }

  startAgent(): void {
    this.apiNode.startAgent([`--kubeconfig=${join(this.#dir, "kubeconfig")}`]);
  }

  async killContainerd(): Promise<void> {
    for (const { pid } of this.processes().containerd) kill(pid);
    await this.apiNode.node.stopRuntime(); // waits for its exit
  }

  /** Sets the clock of the agent, relative to the machine's. */
  setClock(offsetMs: number): void {
    writeFileSync(join(this.#dir, "offset-ms"), String(offsetMs));
  }

  /** Leaves no space in the root directory of the agent until `freeDisk`. */
  fillDisk(): void {
    const chunk = Buffer.alloc(1 << 20);
    for (const size of [chunk.length, 4096])
      try {
        for (;;) writeFileSync(this.#filling, chunk.subarray(0, size), { flag: "a" });
      } catch (error) {
        assert.equal((error as NodeJS.ErrnoException).code, "ENOSPC");
      }
  }

  freeDisk(): void {
    rmSync(this.#filling, { force: true });
  }

  get #filling(): string {
    return join(this.apiNode.node.rootDir, "filling");
  }

  /** The heap usage of the agent in bytes, after a garbage collection. */
  async heapBytes(): Promise<number> {
    const file = join(this.#dir, "heap-bytes");
    rmSync(file, { force: true });
    process.kill(this.apiNode.agent.pid!, "SIGUSR2");
    return waitFor(() => {
      const bytes = Number(readFileSync(file, "utf8"));
      assert.ok(bytes > 0);
      return bytes;
    });
  }

  async destroy(): Promise<void> {
    await this.apiNode.agent.end("SIGKILL");
    await this.cri.close();
    this.network.close();
    await this.errors.close();
    this.freeDisk();
    try {
      execFileSync("umount", ["--recursive", this.apiNode.node.rootDir]);
    } finally {
      await this.apiNode.destroy();
      await removeDir(this.#dir);
    }
  }
}

function pemOf(source: PemSource): string {
  return source.kind === "data" ? source.pem : readFileSync(source.path, "utf8");
}

export function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has exited.
  }
}
