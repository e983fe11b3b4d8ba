import { mkdtemp, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { kubeconfig } from "../../src/apiserver/auth/pki/kubeconfig.ts";
import { bootstrapToken } from "../../src/apiserver/auth/tokens/fixtures.ts";
import { type EmbeddedApi, startEmbeddedApi } from "../../src/apiserver/embedded-api.ts";
import { systemClock } from "../../src/lib/base/clock.ts";
import { silentLogger } from "../../src/lib/base/logger.ts";
import { KubeApiError } from "../../src/lib/clients/kube/api-error.ts";
import { loadKubeconfig } from "../../src/lib/clients/kube/kubeconfig.ts";
import { HttpKubeTransport } from "../../src/lib/clients/kube/transport.ts";
import type { Pod, ResourceRequirements } from "../../src/lib/model/pod.ts";
import { type PodSpecInit, podManifest } from "../e2e/manifests.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { removeDir } from "../node/remove-dir.ts";

const clock = systemClock;
const logger = silentLogger;
const podsPath = "/api/v1/namespaces/default/pods";

export interface NodeCondition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastHeartbeatTime?: string;
}

export interface ApiEvent {
  readonly reason: string;
  readonly message: string;
  readonly type: string;
  readonly involvedObject: { readonly kind: string; readonly name: string };
}

/** The embedded API in the test process, for the node of a guest. */
export class GuestApi {
  readonly #server: EmbeddedApi;
  readonly #dir: string;
  readonly #admin: HttpKubeTransport;
  readonly #node: string;

  private constructor(server: EmbeddedApi, dir: string, admin: HttpKubeTransport, node: string) {
    this.#server = server;
    this.#dir = dir;
    this.#admin = admin;
    this.#node = node;
  }

  static async start(host: string, node: string): Promise<GuestApi> {
    const dir = await mkdtemp(join(tmpdir(), "guest-api-"));
    const adminFile = join(dir, "kubeconfig");
    const server = await startEmbeddedApi({
      dir,
      host,
      kubeconfig: adminFile,
      clock,
      logger,
      port: 6443,
      node: { name: node, kubeconfig: join(dir, "kubelet.kubeconfig") },
    });
    const access = await loadKubeconfig(adminFile);
    const admin = new HttpKubeTransport({ access, userAgent: "admin", qps: 0, burst: 0, clock, logger });
    return new GuestApi(server, dir, admin, node);
  }

  nodeKubeconfig(): Promise<string> {
    return readFile(join(this.#dir, "kubelet.kubeconfig"), "utf8");
  }

  /** A kubeconfig with a new bootstrap token. */
  async bootstrapKubeconfig(): Promise<string> {
    const { token, secret } = bootstrapToken({});
    // The namespace is created soon after the API has started.
    await waitFor(() =>
      this.#admin.request({ method: "POST", path: "/api/v1/namespaces/kube-system/secrets", body: secret }),
    );
    const [, ca = ""] = /certificate-authority-data"?: "?([\w+/=]+)/.exec(await this.nodeKubeconfig()) ?? [];
    const user = { user: "joining", credential: { token } };
    return kubeconfig({ server: this.#server.address, ca: Buffer.from(ca, "base64").toString(), ...user });
  }

  get<T>(path: string): Promise<T> {
    return this.#admin.request<T>({ method: "GET", path, timeoutMs: 5000 });
  }

  create<T>(path: string, body: object): Promise<T> {
    return this.#admin.request<T>({ method: "POST", path, body });
  }

  /** A pod of busybox containers on the node, unless specified otherwise. */
  addPod(name: string, spec: PodSpecInit): Promise<Pod> {
    const body = JSON.parse(podManifest(name, { nodeName: this.#node, ...spec })) as object;
    return this.create<Pod>(podsPath, body);
  }

  async resize(name: string, container: string, resources: ResourceRequirements): Promise<void> {
    await this.#admin.request({
      method: "PATCH",
      path: `${podsPath}/${name}/resize`,
      contentType: "application/strategic-merge-patch+json",
      body: { spec: { containers: [{ name: container, resources }] } },
    });
  }

  /** Undefined if it does not exist. */
  async pod(name: string): Promise<Pod | undefined> {
    try {
      return await this.get<Pod>(`${podsPath}/${name}`);
    } catch (error) {
      if (error instanceof KubeApiError && error.status === 404) return undefined;
      throw error;
    }
  }

  async pods(): Promise<Pod[]> {
    return (await this.get<{ items: Pod[] }>(podsPath)).items;
  }

  async deletePod(name: string): Promise<void> {
    await this.#admin.request({ method: "DELETE", path: `${podsPath}/${name}` });
  }

  async condition(type: string): Promise<NodeCondition | undefined> {
    const { status } = await this.get<{ status: { conditions?: NodeCondition[] } }>(
      `/api/v1/nodes/${this.#node}`,
    );
    return status.conditions?.find((condition) => condition.type === type);
  }

  async events(reason: string): Promise<ApiEvent[]> {
    return (await this.get<{ items: ApiEvent[] }>("/api/v1/events")).items.filter(
      (event) => event.reason === reason,
    );
  }

  async stop(): Promise<void> {
    this.#admin.close();
    await this.#server.stop();
    await removeDir(this.#dir);
  }
}
