import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { hostname } from "node:os";
import { join } from "node:path";
import type { HttpKubeTransport } from "../../src/lib/clients/kube/transport.ts";
import type { Pod } from "../../src/lib/model/pod.ts";
import { KillableApi } from "../cluster/killable-api.ts";
import { AgentProcess } from "../e2e/agent-process.ts";
import { manifest, writeManifest } from "../e2e/manifests.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { startTestNode, type TestNode } from "../node/test-node.ts";

export interface NodeObject {
  readonly metadata: { readonly name: string; readonly labels: Readonly<Record<string, string>> };
  readonly status: {
    readonly addresses: readonly { readonly type: string; readonly address: string }[];
    readonly conditions: readonly {
      readonly type: string;
      readonly status: string;
      readonly reason: string;
    }[];
    readonly nodeInfo: Readonly<Record<string, unknown>>;
  };
}

/** A real containerd, the embedded API and the agent as processes, on an isolated host that is odd in one respect. */
export class OddNode {
  readonly node: TestNode;
  readonly api: KillableApi;
  readonly admin: HttpKubeTransport;
  readonly agent: AgentProcess;

  static async create(config: Record<string, unknown> = {}): Promise<OddNode> {
    const node = await startTestNode({ containerd: "2.x" });
    const api = await KillableApi.create(hostname());
    api.start();
    const admin = await api.admin();
    await waitFor(() =>
      admin.request({ method: "GET", path: "/api/v1/namespaces/default/serviceaccounts/default" }),
    );
    return new OddNode({ node, api, admin, agent: await AgentProcess.create(node, config) });
  }

  private constructor(parts: Pick<OddNode, "node" | "api" | "admin" | "agent">) {
    this.node = parts.node;
    this.api = parts.api;
    this.admin = parts.admin;
    this.agent = parts.agent;
  }

  startAgent(flags: readonly string[] = [], env?: NodeJS.ProcessEnv): void {
    this.agent.start([`--kubeconfig=${this.api.nodeKubeconfig}`, ...flags], env);
  }

  placeManifest(name: string, more: { hostNetwork?: boolean } = {}): void {
    writeManifest(this.node.manifests, `${name}.yaml`, manifest({ name, ...more }));
  }

  /** The mirror pod of a manifest, once it is ready. */
  runs(name: string): Promise<Pod> {
    return waitFor(async () => {
      const path = `/api/v1/namespaces/default/pods/${name}-${hostname()}`;
      const pod = await this.admin.request<Pod>({ method: "GET", path });
      const ready = pod.status?.conditions?.find(({ type }) => type === "Ready");
      assert.equal(ready?.status, "True", `${JSON.stringify(pod.status)}\n${this.agent.log().slice(-3000)}`);
      return pod;
    });
  }

  async nodeObject(): Promise<NodeObject> {
    return this.admin.request<NodeObject>({ method: "GET", path: `/api/v1/nodes/${hostname()}` });
  }

  async destroy(): Promise<void> {
    await this.agent.destroy();
    await this.api.destroy();
  }
}

/** A pair of devices, since a kubelet needs a global unicast address, and not every kernel has dummy devices. */
export function addAddresses(...addresses: string[]): void {
  const ip = (...args: string[]) => execFileSync("ip", args);
  ip("link", "add", "up0", "type", "veth", "peer", "name", "up1");
  for (const name of ["up0", "up1"]) ip("link", "set", name, "up");
  for (const address of addresses)
    ip("addr", "add", address, "dev", "up0", ...(address.includes(":") ? ["nodad"] : []));
}

/** Where the agent of a test keeps its certificates. */
export const pkiFlag = (node: TestNode): string => `--cert-dir=${join(node.rootDir, "pki")}`;
