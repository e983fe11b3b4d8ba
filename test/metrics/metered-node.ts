import { request } from "node:https";
import { join } from "node:path";
import { loadKubeconfig, type PemSource } from "../../src/lib/clients/kube/kubeconfig.ts";
import { NodeWithApi } from "../cluster/node-with-api.ts";
import { freePort } from "../e2e/agent-process.ts";
import { waitFor } from "../e2e/wait-for.ts";
import type { ContainerdVersion } from "../node/test-node.ts";
import { type ParsedFamily, parsePrometheus } from "./prometheus-text.ts";

export interface PageResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

/** A real containerd, the embedded API and the agent with its own HTTPS API, and a client that may call everything. */
export class MeteredNode {
  readonly apiNode: NodeWithApi;
  readonly port: number;
  readonly #identity: { cert: string; key: string };

  static async start(
    containerd: ContainerdVersion,
    more: (cgroupRoot: string) => {
      config?: Record<string, unknown>;
      flags?: readonly string[];
      /** Called when the runtime has started, before the agent. */
      prepare?: () => Promise<void>;
    } = () => ({}),
  ): Promise<MeteredNode> {
    const port = await freePort();
    const apiNode = await NodeWithApi.start(containerd, {
      config: (api, node) => ({
        enableServer: true,
        port,
        authentication: { x509: { clientCAFile: join(api.dir, "pki/ca.crt") } },
        ...more(node.cgroupRoot).config,
      }),
      prepare: async (node) => more(node.cgroupRoot).prepare?.(),
      flags: (node) => [`--cert-dir=${join(node.rootDir, "pki")}`, ...(more(node.cgroupRoot).flags ?? [])],
    });
    try {
      const { user } = await loadKubeconfig(join(apiNode.api.dir, "kubeconfig"));
      if (!user.clientCertificate) throw new Error("the admin has no certificate");
      const { cert, key } = user.clientCertificate;
      const node = new MeteredNode(apiNode, port, { cert: inline(cert), key: inline(key) });
      await waitFor(() => node.request("/healthz"), 60_000);
      return node;
    } catch (error) {
      await apiNode.destroy();
      throw error;
    }
  }

  private constructor(apiNode: NodeWithApi, port: number, identity: { cert: string; key: string }) {
    this.apiNode = apiNode;
    this.port = port;
    this.#identity = identity;
  }

  /** Throws if there is no response. */
  request(path: string, o: { method?: string; headers?: object; body?: string } = {}): Promise<PageResponse> {
    const { method = "GET", headers = {}, body } = o;
    return new Promise((resolve, reject) => {
      const call = request(
        {
          host: "127.0.0.1",
          port: this.port,
          path,
          method,
          headers: { ...headers },
          timeout: 30_000,
          ...this.#identity,
          rejectUnauthorized: false,
          agent: false,
        },
        (response) => {
          const parts: Buffer[] = [];
          response.on("data", (chunk: Buffer) => parts.push(chunk));
          response.on("error", reject);
          response.on("end", () =>
            resolve({
              status: response.statusCode ?? 0,
              headers: response.headers,
              body: Buffer.concat(parts).toString(),
            }),
          );
        },
      );
      call.on("timeout", () => call.destroy(new Error(`${path}: no response`)));
      call.on("error", reject);
      call.end(body);
    });
  }

  async json<T>(path: string): Promise<T> {
    const { status, body } = await this.request(path);
    if (status !== 200) throw new Error(`${path}: ${status} ${body}`);
    return JSON.parse(body) as T;
  }

  /** The metrics of the agent, read by our own parser. */
  async metrics(path: string): Promise<Map<string, ParsedFamily>> {
    const { status, body } = await this.request(path);
    if (status !== 200) throw new Error(`${path}: ${status} ${body}`);
    return parsePrometheus(body);
  }

  async destroy(): Promise<void> {
    await this.apiNode.destroy();
  }
}

function inline(source: PemSource): string {
  if (source.kind !== "data") throw new Error("the certificate is in a file");
  return source.pem;
}
