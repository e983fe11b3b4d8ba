import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { kubeconfig } from "../../src/apiserver/auth/pki/kubeconfig.ts";
import { bootstrapToken } from "../../src/apiserver/auth/tokens/fixtures.ts";
import { systemClock } from "../../src/lib/base/clock.ts";
import { silentLogger } from "../../src/lib/base/logger.ts";
import { parseKubeconfig } from "../../src/lib/clients/kube/kubeconfig.ts";
import { HttpKubeTransport } from "../../src/lib/clients/kube/transport.ts";
import type { Pod } from "../../src/lib/model/pod.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { container, nodeName } from "./cluster-node.ts";

const requests = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const pods = "/api/v1/namespaces/default/pods";

export interface SigningRequest {
  readonly metadata: { readonly name: string; readonly creationTimestamp: string };
  readonly spec: { readonly signerName: string; readonly username: string };
  readonly status: { readonly certificate?: string; readonly conditions?: readonly object[] };
}

export type Kind = "client" | "serving";

/** A user of the embedded API who may do everything. */
export class ApiUser {
  readonly #url: string;
  /** The CA certificate of the API. */
  readonly ca: string;
  readonly #admin: HttpKubeTransport;

  constructor(o: { url: string; ca: string; kubeconfig: string }) {
    this.#url = o.url;
    this.ca = o.ca;
    this.#admin = new HttpKubeTransport({
      access: parseKubeconfig(o.kubeconfig, "kubeconfig"),
      userAgent: "admin",
      qps: 0,
      burst: 0,
      clock: systemClock,
      logger: silentLogger,
    });
  }

  close(): void {
    this.#admin.close();
  }

  get<T>(path: string): Promise<T> {
    return this.#admin.request<T>({ method: "GET", path });
  }

  create<T>(path: string, body: object): Promise<T> {
    return this.#admin.request<T>({ method: "POST", path, body });
  }

  delete(path: string): Promise<unknown> {
    return this.#admin.request({ method: "DELETE", path });
  }

  /** Writes a kubeconfig with a new bootstrap token. Returns a function that revokes the token. */
  async allowJoining(file: string): Promise<() => Promise<unknown>> {
    const { token, secret } = bootstrapToken({});
    const path = "/api/v1/namespaces/kube-system/secrets";
    // The namespace is created soon after the API has started.
    await waitFor(() => this.create(path, secret));
    const user = { user: "joining", credential: { token } };
    await writeFile(file, kubeconfig({ server: this.#url, ca: this.ca, ...user }));
    return () => this.delete(`${path}/${secret.metadata.name}`);
  }

  /** Requests for certificates of this kind, the oldest first. */
  async signingRequests(kind: Kind): Promise<SigningRequest[]> {
    const signer = kind === "client" ? "kube-apiserver-client-kubelet" : "kubelet-serving";
    const { items } = await this.get<{ items: SigningRequest[] }>(requests);
    const createdAt = ({ metadata }: SigningRequest) => metadata.creationTimestamp;
    return items
      .filter(({ spec }) => spec.signerName === `kubernetes.io/${signer}`)
      .sort((a, b) => createdAt(a).localeCompare(createdAt(b)));
  }

  /** Waits for a pending request for a client certificate. */
  pendingRequest(): Promise<SigningRequest> {
    return waitFor(async () => {
      const found = (await this.signingRequests("client")).find(({ status }) => !status.conditions);
      assert.ok(found, "no certificate was requested");
      return found;
    });
  }

  /** Approves or denies a request, as an administrator does. */
  async decide(request: SigningRequest, type: "Approved" | "Denied", message: string): Promise<void> {
    const path = `${requests}/${request.metadata.name}/approval`;
    const conditions = [{ type, status: "True", reason: "ManualReview", message }];
    await this.#admin.request({ method: "PUT", path, body: { ...request, status: { conditions } } });
  }

  deleteRequest({ metadata }: SigningRequest): Promise<unknown> {
    return this.delete(`${requests}/${metadata.name}`);
  }

  /** Creates a pod on the node; resolves with its UID. */
  async addPod(name: string): Promise<string> {
    const spec = { nodeName, terminationGracePeriodSeconds: 3, containers: [container()] };
    const body = { apiVersion: "v1", kind: "Pod", metadata: { name }, spec };
    // The default service account is created soon after the namespace.
    const { metadata } = await waitFor(() => this.create<Pod>(pods, body));
    return metadata.uid;
  }

  async deletePod(name: string): Promise<void> {
    await this.delete(`${pods}/${name}`);
    await waitFor(() => assert.rejects(this.get(`${pods}/${name}`), { status: 404 }));
  }

  async podRuns(name: string, withinMs?: number): Promise<void> {
    await waitFor(async () => {
      const { status } = await this.get<Pod>(`${pods}/${name}`);
      assert.equal(status?.phase, "Running", JSON.stringify(status));
    }, withinMs);
  }

  patch(
    path: string,
    body: object,
    contentType = "application/strategic-merge-patch+json",
  ): Promise<unknown> {
    return this.#admin.request({ method: "PATCH", path, contentType, body });
  }

  /** Adds an address to the node. */
  async addAddress(address: string): Promise<void> {
    await this.patch(`/api/v1/nodes/${nodeName}/status`, {
      status: { addresses: [{ type: "ExternalIP", address }] },
    });
  }

  /** When the node last renewed its lease. */
  async renewedAt(): Promise<number> {
    const path = `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${nodeName}`;
    const { spec } = await this.get<{ spec: { renewTime: string } }>(path);
    return Date.parse(spec.renewTime);
  }
}
