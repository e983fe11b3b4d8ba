import { X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { AgentProcess } from "./agent-process.ts";
import type { ApiUser } from "./api-user.ts";
import { TestCluster } from "./cluster-node.ts";

/** The inputs of an agent that joins. */
export class JoiningNode {
  readonly cluster: TestCluster;
  readonly #api: ApiUser;

  static async prepare(t: TestContext, api: ApiUser): Promise<JoiningNode> {
    return new JoiningNode(api, await TestCluster.start(t));
  }

  private constructor(api: ApiUser, cluster: TestCluster) {
    this.#api = api;
    this.cluster = cluster;
  }

  get bootstrap(): string {
    return join(this.cluster.dir, "bootstrap");
  }

  get kubeconfig(): string {
    return join(this.cluster.dir, "kubeconfig");
  }

  get certDir(): string {
    return join(this.cluster.dir, "pki");
  }

  agent(...flags: string[]): AgentProcess {
    return this.agentWith({}, ...flags);
  }

  agentWith(env: NodeJS.ProcessEnv, ...flags: string[]): AgentProcess {
    const own = [
      `--kubeconfig=${this.kubeconfig}`,
      "--enable-server=false",
      `--bootstrap-kubeconfig=${this.bootstrap}`,
      `--cert-dir=${this.certDir}`,
    ];
    return new AgentProcess(this.cluster, [...own, ...flags], { ...process.env, ...env });
  }

  async certificate(kind: "client" | "server" = "client"): Promise<X509Certificate> {
    return new X509Certificate(await readFile(join(this.certDir, `kubelet-${kind}-current.pem`)));
  }

  /** How many client certificates such users have requested. */
  async certificatesRequestedBy(users: string): Promise<number> {
    const all = await this.#api.signingRequests("client");
    return all.filter(({ spec }) => spec.username.startsWith(users)).length;
  }
}
