import type { KubeTransport } from "../../lib/clients/kube/transport-interface.ts";
import { strategicMergePatch } from "./node-patch.ts";
import type { Lease, NodeObject } from "./node-types.ts";

/** The requests of the node about itself. Errors carry the HTTP status of the response as `status`. */
export interface NodeApi {
  get(signal: AbortSignal): Promise<NodeObject>;
  create(node: NodeObject, signal: AbortSignal): Promise<NodeObject>;
  /** A strategic merge patch of the status subresource. */
  patchStatus(patch: object, signal: AbortSignal): Promise<NodeObject>;
}

export interface LeaseApi {
  get(signal: AbortSignal): Promise<Lease>;
  create(lease: Lease, signal: AbortSignal): Promise<Lease>;
  update(lease: Lease, signal: AbortSignal): Promise<Lease>;
}

export const leaseNamespace = "kube-node-lease";

interface ApiOptions {
  transport: Pick<KubeTransport, "request">;
  nodeName: string;
  /** Timeout of one request: shorter than the heartbeat period. */
  timeoutMs: number;
}

export function kubeNodeApi({ transport, nodeName, timeoutMs }: ApiOptions): NodeApi {
  const nodes = "/api/v1/nodes";
  const own = `${nodes}/${encodeURIComponent(nodeName)}`;
  return {
    get: async (signal) => complete(await transport.request({ method: "GET", path: own, signal, timeoutMs })),
    create: async (body, signal) =>
      complete(await transport.request({ method: "POST", path: nodes, body, signal, timeoutMs })),
    patchStatus: async (body, signal) =>
      complete(
        await transport.request({
          method: "PATCH",
          path: `${own}/status`,
          body,
          contentType: strategicMergePatch,
          signal,
          timeoutMs,
        }),
      ),
  };
}

export function kubeLeaseApi({ transport, nodeName, timeoutMs }: ApiOptions): LeaseApi {
  const leases = `/apis/coordination.k8s.io/v1/namespaces/${leaseNamespace}/leases`;
  const own = `${leases}/${encodeURIComponent(nodeName)}`;
  return {
    get: (signal) => transport.request({ method: "GET", path: own, signal, timeoutMs }),
    create: (body, signal) => transport.request({ method: "POST", path: leases, body, signal, timeoutMs }),
    update: (body, signal) => transport.request({ method: "PUT", path: own, body, signal, timeoutMs }),
  };
}

/** The API omits empty fields. */
function complete(node: Partial<NodeObject> & Pick<NodeObject, "metadata">): NodeObject {
  return { apiVersion: "v1", kind: "Node", spec: {}, status: {}, ...node };
}

export function httpStatusOf(error: unknown): number | undefined {
  const status = (error as { status?: unknown } | undefined)?.status;
  return typeof status === "number" ? status : undefined;
}
