import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../../src/lib/base/clock.ts";
import { silentLogger } from "../../src/lib/base/logger.ts";
import { KubeApiError } from "../../src/lib/clients/kube/api-error.ts";
import { loadKubeconfig } from "../../src/lib/clients/kube/kubeconfig.ts";
import { HttpKubeTransport } from "../../src/lib/clients/kube/transport.ts";
import type { KubeRequest } from "../../src/lib/clients/kube/transport-interface.ts";
import { launcherFile } from "../e2e/built.ts";
import { freePort } from "../e2e/free-port.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { UsageError } from "./options.ts";
import { listenerOf } from "./process-stats.ts";

export const benchNode = "kubelet-bench";
const namespace = "kubelet-bench";
const namespacePath = `/api/v1/namespaces/${namespace}`;
export const podsPath = `${namespacePath}/pods`;
export const nodePath = `/api/v1/nodes/${benchNode}`;

/** The API server of a measurement: the embedded one in a separate process, or the server of a kubeconfig. */
export class BenchApi {
  /** For the kubelets. */
  readonly kubeconfig: string;
  readonly name: string;
  readonly admin: HttpKubeTransport;
  /** Undefined if the API server does not run on this machine. */
  readonly pid: number | undefined;
  readonly #stop: () => Promise<void>;

  private constructor(o: Pick<BenchApi, "kubeconfig" | "name" | "admin" | "pid">, stop: () => Promise<void>) {
    this.kubeconfig = o.kubeconfig;
    this.name = o.name;
    this.admin = o.admin;
    this.pid = o.pid;
    this.#stop = stop;
  }

  static async embedded(): Promise<BenchApi> {
    const dir = await mkdtemp(join(tmpdir(), "bench-api-"));
    const args = [
      "api",
      "--dir",
      dir,
      "--port",
      String(await freePort()),
      "--node",
      benchNode,
      "--until-eof",
    ];
    const child = spawn(launcherFile, args, { stdio: ["pipe", "ignore", "inherit"] });
    const stop = async () => {
      await ended(child);
      await rm(dir, { recursive: true, force: true });
    };
    try {
      const admin = await waitFor(() => adminOf(join(dir, "kubeconfig")));
      const kubeconfig = join(dir, "kubelet.kubeconfig");
      const api = new BenchApi({ kubeconfig, name: "embedded API", admin, pid: child.pid }, stop);
      await waitFor(() => api.#prepare());
      return api;
    } catch (error) {
      await stop();
      throw error;
    }
  }

  /** Uses the identity of this kubeconfig for the kubelets and to create pods. */
  static async ofKubeconfig(file: string): Promise<BenchApi> {
    const { admin, server, gitVersion } = await connect(file).catch((error: Error) => {
      throw new UsageError(`${file}: ${error.message}`);
    });
    const pid = isThisMachine(server.hostname) ? listenerOf(Number(server.port || 443)) : undefined;
    const api = new BenchApi({ kubeconfig: file, name: `API server ${gitVersion}`, admin, pid }, async () => {
      await api.#request({ method: "DELETE", path: namespacePath }, 404);
    });
    await api.#prepare();
    return api;
  }

  /** Pods need a namespace and its service account, which no controller may be there to create. */
  async #prepare(): Promise<void> {
    const create = (path: string, kind: string, name: string) =>
      this.#request({ method: "POST", path, body: { apiVersion: "v1", kind, metadata: { name } } }, 409);
    await create("/api/v1/namespaces", "Namespace", namespace);
    await create(`${namespacePath}/serviceaccounts`, "ServiceAccount", "default");
  }

  async #request(call: KubeRequest, tolerated: number): Promise<void> {
    await this.admin.request(call).catch((error) => {
      if (!(error instanceof KubeApiError) || error.status !== tolerated) throw error;
    });
  }

  async createPod(name: string, spec: object): Promise<void> {
    const body = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name },
      spec: { nodeName: benchNode, ...spec },
    };
    await this.admin.request({ method: "POST", path: podsPath, body });
  }

  async deletePod(name: string, gracePeriodSeconds?: number): Promise<void> {
    const query = { gracePeriodSeconds };
    await this.admin.request({ method: "DELETE", path: `${podsPath}/${name}`, query });
  }

  /** The next kubelet registers its node again. */
  deleteNode(): Promise<void> {
    return this.#request({ method: "DELETE", path: nodePath }, 404);
  }

  async stop(): Promise<void> {
    // After Ctrl-C the embedded API has stopped already.
    await this.deleteNode().catch(() => {});
    await this.#stop();
    this.admin.close();
  }
}

async function connect(file: string) {
  const { cluster } = await loadKubeconfig(file);
  const admin = await adminOf(file);
  const version = { method: "GET", path: "/version", timeoutMs: 10_000 } as const;
  const { gitVersion } = await admin.request<{ gitVersion: string }>(version).catch((error) => {
    admin.close();
    throw error;
  });
  return { admin, server: cluster.server, gitVersion };
}

function isThisMachine(host: string): boolean {
  const addresses = Object.values(networkInterfaces()).flatMap((all) =>
    (all ?? []).map(({ address }) => address),
  );
  return host === "localhost" || addresses.includes(host.replace(/^\[|\]$/g, ""));
}

async function adminOf(kubeconfig: string): Promise<HttpKubeTransport> {
  const access = await loadKubeconfig(kubeconfig);
  return new HttpKubeTransport({
    access,
    userAgent: "kubelet-bench",
    qps: 0,
    burst: 0,
    clock: systemClock,
    logger: silentLogger,
  });
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill("SIGTERM");
  await exited;
}
